"""The invented town of Brindlewick: its venues and trains in the format of the MultiWOZ databases.

Every name is made up and has a Chinese form, so that both corpora speak of the same places.
"""

from __future__ import annotations

from dice import Dice
from mw_values import DAYS

TOWN = ("Brindlewick", "布林德威克")

# name, Chinese name, food, price, area
_RESTAURANTS = """
marigold court|金盏花庭院餐厅|indian|expensive|centre
spice wharf|香料码头餐厅|indian|cheap|east
clove and cardamom|丁香豆蔻餐厅|indian|moderate|north
tandoor and thyme|百里香烤炉餐厅|indian|expensive|west
nonna lucia|露西亚外婆餐厅|italian|moderate|centre
trattoria del ponte|桥边意式餐馆|italian|cheap|east
villa serena|塞雷娜别墅餐厅|italian|expensive|south
seven lanterns|七灯楼|chinese|cheap|north
jade terrace|玉台酒家|chinese|expensive|centre
golden carp|金鲤鱼饭店|chinese|moderate|west
the blue ladle|蓝勺小馆|british|cheap|centre
the old anvil|老铁砧饭馆|british|moderate|west
the merry heron|快乐苍鹭餐厅|british|moderate|north
tinker's yard|补锅匠小院餐厅|british|expensive|south
bluebell tearoom|蓝铃茶室|british|cheap|south
river pepper|河畔胡椒餐厅|thai|moderate|south
elephant lane kitchen|象巷厨房|thai|cheap|centre
la petite ourse|小熊法餐厅|french|expensive|centre
cafe lumiere|光影餐厅|french|moderate|east
bosphorus garden|博斯普鲁斯花园餐厅|turkish|cheap|east
sultan's spoon|苏丹之勺餐厅|turkish|moderate|west
casa del roble|橡树之家餐厅|spanish|moderate|east
hanok table|韩屋餐桌|korean|moderate|north
seoul alley|首尔巷子餐厅|korean|cheap|centre
little maple|小枫日料|japanese|expensive|south
paper crane|纸鹤料理|japanese|moderate|centre
el cactus azul|蓝仙人掌餐厅|mexican|cheap|west
lotus lane|莲花巷餐厅|vietnamese|cheap|south
olive press|橄榄坊|mediterranean|moderate|centre
the walled garden|围墙花园餐厅|european|expensive|west
the salt cellar|盐窖餐厅|european|moderate|centre
porto quay|波尔图码头餐厅|portuguese|moderate|south
"""

# name, Chinese name, type, stars, price, area, internet, parking
_HOTELS = """
the tanyard hotel|鞣皮场酒店|hotel|4|expensive|centre|yes|yes
kingfisher inn|翠鸟旅店|hotel|3|moderate|south|yes|yes
weaver's rest|织工之憩宾馆|guesthouse|4|moderate|north|yes|yes
number nine brindle street|布林德街九号宾馆|guesthouse|3|cheap|centre|yes|no
the gatehouse|门楼酒店|hotel|4|expensive|west|yes|yes
hazelmere lodge|榛湖旅舍|guesthouse|4|cheap|west|yes|yes
mill pond guest house|磨坊池宾馆|guesthouse|4|moderate|east|yes|yes
orchard view|果园景宾馆|guesthouse|3|moderate|west|yes|no
the clockmaker|钟表匠酒店|hotel|5|expensive|centre|yes|no
station court hotel|车站庭院酒店|hotel|2|cheap|north|yes|yes
larkspur house|飞燕草宾馆|guesthouse|4|cheap|north|yes|yes
the granary|谷仓酒店|hotel|3|moderate|east|yes|yes
willow bank|柳岸宾馆|guesthouse|2|cheap|south|no|yes
bramble cottage|黑莓小屋宾馆|guesthouse|4|moderate|south|yes|yes
ropewalk hotel|绳道酒店|hotel|2|moderate|north|yes|yes
tower street rooms|塔街客房宾馆|guesthouse|3|cheap|east|yes|yes
the old customs house|老海关酒店|hotel|4|moderate|centre|yes|yes
saint aldwyn's hotel|圣奥德温酒店|hotel|3|expensive|south|yes|yes
"""

# name, Chinese name, type, area, entrance fee
_ATTRACTIONS = """
museum of bells|钟铃博物馆|museum|centre|free
pencil museum|铅笔博物馆|museum|west|4 pounds
wool hall museum|羊毛大厅博物馆|museum|east|5 pounds
lantern gallery|灯笼美术馆|museum|centre|free
aldwyn college|奥德温学院|college|centre|free
thornbury college|索恩伯里学院|college|west|3 pounds
saint maud's college|圣莫德学院|college|north|?
weir meadow|堰坝草地公园|park|west|free
old quarry gardens|老采石场花园|park|north|free
canal basin park|运河湾公园|park|east|?
playhouse on the quay|码头剧场|theatre|centre|?
little fox theatre|小狐狸剧院|theatre|south|12 pounds
saint aldwyn's church|圣奥德温教堂|architecture|centre|free
the leaning granary|斜谷仓|architecture|north|free
fishmarket arcade|鱼市拱廊|architecture|centre|?
brindle punts|布林德撑船|boat|centre|14 pounds
lock keeper boats|闸工游船|boat|south|9 pounds
gaslight picture house|煤气灯影院|cinema|south|8 pounds
the orpheum|奥菲姆影院|cinema|centre|?
velvet cellar|天鹅绒地窖|nightclub|centre|6 pounds
north quay club|北码头夜店|nightclub|north|?
jubilee baths|禧年浴场|swimming pool|east|4 pounds
holloway lido|霍洛韦露天泳池|swimming pool|south|?
strike lane bowling|击球巷保龄球馆|entertainment|south|7 pounds
"""

_STREETS = """
weaver street|织工街
tanner's row|制革匠巷
quay road|码头路
bell lane|钟巷
station parade|车站大道
orchard close|果园弄
mill hill|磨坊山路
canal walk|运河步道
saint maud's road|圣莫德路
castle rise|城堡坡
"""

CITIES = {
    "brindlewick": "布林德威克",
    "harrowmere": "哈罗米尔",
    "kestrel bay": "红隼湾",
    "port elwyn": "埃尔温港",
    "thornley cross": "索恩利十字",
    "westmarch": "西马奇",
}
_MINUTES = {"harrowmere": 38, "kestrel bay": 74, "port elwyn": 105, "thornley cross": 17, "westmarch": 51}

CARS = {
    "black skoda": "黑色斯柯达",
    "white toyota": "白色丰田",
    "grey volvo": "灰色沃尔沃",
    "red kia": "红色起亚",
    "blue nissan": "蓝色日产",
    "yellow peugeot": "黄色标致",
}


def _rows(text: str) -> list[list[str]]:
    return [line.split("|") for line in text.strip().splitlines()]


def build() -> dict[str, list[dict]]:
    """The databases by domain, as lists of entries with the keys of the real ones."""
    dice = Dice("brindlewick")
    return {
        "restaurant": _restaurants(dice),
        "hotel": _hotels(dice),
        "attraction": _attractions(dice),
        "train": _trains(dice),
    }


def _where(dice: Dice, number: int) -> dict:
    street = dice.pick(_rows(_STREETS))[0]
    return {
        "address": f"{dice.between(2, 98)} {street}",
        "location": [round(51.2 + number / 997, 6), round(-2.4 - number / 883, 6)],
        # 01632 960000 to 960999 are kept free for fiction, and no post town begins with "bw".
        "phone": f"01632960{100 + number}",
        "postcode": f"bw{dice.between(1, 9)}{dice.between(1, 9)}{dice.pick('abdefghj')}{dice.pick('lnpqrstu')}",
    }


def _restaurants(dice: Dice) -> list[dict]:
    out = []
    for i, (name, _, food, price, area) in enumerate(_rows(_RESTAURANTS)):
        place = _where(dice, i)
        out.append(
            {
                "address": place["address"],
                "area": area,
                "food": food,
                "id": str(20100 + 7 * i),
                "introduction": "",
                "location": place["location"],
                "name": name,
                "phone": place["phone"],
                "postcode": place["postcode"],
                "pricerange": price,
                "type": "restaurant",
            }
        )
    return out


def _hotels(dice: Dice) -> list[dict]:
    out = []
    for i, (name, _, kind, stars, price, area, internet, parking) in enumerate(_rows(_HOTELS)):
        place = _where(dice, 100 + i)
        single = {"cheap": 38, "moderate": 62, "expensive": 115}[price] + 2 * dice.between(0, 6)
        out.append(
            {
                "address": place["address"],
                "area": area,
                "internet": internet,
                "parking": parking,
                "id": str(i),
                "location": place["location"],
                "name": name,
                "phone": place["phone"],
                "postcode": place["postcode"],
                "price": {"double": str(single + 20), "family": str(single + 45), "single": str(single)},
                "pricerange": price,
                "stars": stars,
                "takesbookings": "yes",
                "type": kind,
            }
        )
    return out


def _attractions(dice: Dice) -> list[dict]:
    out = []
    for i, (name, _, kind, area, fee) in enumerate(_rows(_ATTRACTIONS)):
        place = _where(dice, 200 + i)
        out.append(
            {
                "address": place["address"],
                "area": area,
                "entrance fee": fee,
                "id": str(i + 1),
                "location": place["location"],
                "name": name,
                "openhours": "?"
                if dice.chance(0.4)
                else f"{dice.between(9, 11)}:00 to {dice.between(16, 22)}:00",
                "phone": place["phone"],
                "postcode": place["postcode"],
                "pricerange": "?" if fee == "?" else "free" if fee == "free" else "cheap",
                # The database runs the words together where people do not, as the real one does.
                "type": kind.replace("swimming pool", "swimmingpool"),
            }
        )
    return out


def _trains(dice: Dice) -> list[dict]:
    out = []
    for city, minutes in _MINUTES.items():
        for departure, destination in (("brindlewick", city), (city, "brindlewick")):
            first = dice.between(0, 59)
            for day in DAYS:
                for hour in (6, 9, 11, 14, 17, 20):
                    start = hour * 60 + first
                    end = start + minutes
                    out.append(
                        {
                            "arriveBy": f"{end // 60:02d}:{end % 60:02d}",
                            "day": day,
                            "departure": departure,
                            "destination": destination,
                            "duration": f"{minutes} minutes",
                            "leaveAt": f"{start // 60:02d}:{start % 60:02d}",
                            "price": f"{minutes * 0.21 + 3:.2f} pounds",
                            "trainID": f"TR{1000 + 13 * len(out):04d}",
                        }
                    )
    return out


#: Chinese form of every name, street and town.
ZH_NAMES = {row[0]: row[1] for text in (_RESTAURANTS, _HOTELS, _ATTRACTIONS) for row in _rows(text)} | CITIES


def zh_address(address: str) -> str:
    """12 weaver street -> 织工街12号."""
    number, street = address.split(" ", 1)
    return f"{dict(_rows(_STREETS))[street]}{number}号"


def title(name: str) -> str:
    """A name as it is written in running text."""
    small = {"and", "of", "del", "on", "the", "la", "el"}
    words = name.split()
    return " ".join(w if w in small and i else w[0].upper() + w[1:] for i, w in enumerate(words))


def search(entries: list[dict], wanted: dict[str, str]) -> list[dict]:
    """Entries that fit; a wish nobody cares about fits all."""
    wanted = {k: v.replace("swimming pool", "swimmingpool") for k, v in wanted.items() if v != "dontcare"}
    fits = []
    for entry in entries:
        ok = all(
            entry[k] <= v if k == "arriveBy" else entry[k] >= v if k == "leaveAt" else entry.get(k) == v
            for k, v in wanted.items()
        )
        if ok:
            fits.append(entry)
    return fits
