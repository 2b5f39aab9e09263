"""The invented city of Yunhe: places of the CrossWOZ-style corpora, Chinese and English side by side.

A few English names carry non-breaking or trailing blanks, as the English CrossWOZ has them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from dice import Dice

#: Chinese name | English name | quarter | fee in yuan | duration | rating
_ATTRACTIONS = """
云禾古城墙|Yunhe Ancient City Wall|1|30|2 hours-3 hours|4.6
青瓦巷|Qingwa Alley|1|0|1 hour|4.2
云禾织造馆|Yunhe Weaving Museum |1|0|1 hour-2 hours|4.8
石莲塔|Stone Lotus Pagoda|1|20|1 hour|4.5
海棠书院|Haitang Academy|1|25|1 hour-2 hours|4.5
鹭影湖公园|Egret Shadow Lake Park|2|0|1 hour-2 hours|4.7
南渡码头|Nandu~Wharf|2|0|1 hour|4.3
锦鲤乐园|Koi Amusement Park|2|150|half a day|4.4
渔灯博物馆|Fishing Lantern Museum|2|15|1 hour-2 hours|4.1
听松古寺|Tingsong Temple|3|10|1 hour-2 hours|4.6
飞云岭|Feiyun Ridge|3|60|half a day|4.8
竹溪植物园|Zhuxi Botanical Garden |3|40|2 hours-3 hours|4.5
熊猫岭野生动物园|Panda Ridge Wildlife Park|3|110|half a day|4.7
星河天文台|Xinghe~Observatory|4|45|2 hours-3 hours|4.6
云禾大剧院|Yunhe Grand Theatre|4|120|2 hours-3 hours|4.6
明灯广场|Mingdeng Square|4|0|1 hour|4.0
云禾科学城|Yunhe Science City|4|35|2 hours-3 hours|4.3
赵家老宅|Zhao Family Old House|4|30|1 hour|4.2
"""
#: Chinese name | English name | quarter | cost in yuan | dishes | rating
_RESTAURANTS = """
老槐面馆|Old Locust Noodle House|1|32|牛肉面=Beef noodles,葱油拌面=Scallion oil noodles,卤蛋=Braised egg|4.3
锦园酒家(古城店)|Jinyuan Restaurant (Old City)|1|136|清蒸鲈鱼=Steamed perch,白切鸡=Sliced boiled chicken ,虾饺=Shrimp dumplings|4.6
三碗茶楼|Three Bowls Tea House|1|68|虾饺=Shrimp dumplings,桂花糕=Osmanthus cake,龙井虾仁=Longjing shrimp|4.5
瓦当小馆|Wadang Bistro|1|85|红烧肉=Braised pork,梅菜扣肉=Pork with preserved vegetables,蒜蓉空心菜=Garlic water spinach|4.2
云禾烤鸭坊|Yunhe Roast Duck House|1|145|烤鸭=Roast duck,鸭架汤=Duck bone soup,芥末鸭掌=Duck feet with mustard|4.7
渔舟饭店|Fishing Boat Restaurant|2|118|清蒸鲈鱼=Steamed perch,酸菜鱼=Fish with pickled cabbage,椒盐虾=Salt and pepper prawns|4.4
湖心素食|Lake Heart~Vegetarian Restaurant|2|62|素什锦=Mixed vegetables,麻婆豆腐=Mapo tofu,桂花糕=Osmanthus cake|4.6
码头火锅(南渡店)|Wharf Hot Pot (Nandu)|2|98|毛肚=Beef tripe,虾滑=Shrimp paste,手切羊肉=Hand-cut mutton|4.5
鹭鸶小厨|Egret Kitchen|2|45|宫保鸡丁=Kung Pao chicken,麻婆豆腐=Mapo tofu,酸辣土豆丝=Hot and sour potato shreds|4.0
海螺湾海鲜|Conch Bay Seafood|2|210|清蒸石斑鱼=Steamed grouper,椒盐虾=Salt and pepper prawns,蒜蓉粉丝扇贝=Scallops with garlic vermicelli|4.8
山门斋|Mountain Gate Vegetarian|3|55|素什锦=Mixed vegetables,罗汉斋=Buddha's delight,豆腐丸子=Tofu balls|4.4
竹林土菜馆|Bamboo Grove Farmhouse|3|72|竹筒饭=Rice in bamboo tubes,土鸡汤=Farm chicken soup,腊肉炒笋=Bacon with bamboo shoots|4.5
松风烤肉|Pine Wind Barbecue|3|88|烤羊排=Roast lamb chops,烤茄子=Roast aubergine,羊肉串=Mutton skewers |4.3
岭上人家|Home on the Ridge|3|105|土鸡汤=Farm chicken soup,红烧肉=Braised pork,竹筒饭=Rice in bamboo tubes|4.6
熊猫甜品屋|Panda Dessert House|3|38|双皮奶=Double skin milk,芒果布丁=Mango pudding,红豆冰=Red bean ice|4.2
星空西餐厅|Starry Sky Western Restaurant|4|175|黑椒牛排=Black pepper steak,奶油蘑菇汤=Cream of mushroom soup,提拉米苏=Tiramisu|4.5
幕间咖啡馆|Interval Cafe|4|58|提拉米苏=Tiramisu,金枪鱼三明治=Tuna sandwich,拿铁咖啡=Latte|4.3
广场饺子王|Square Dumpling King|4|42|三鲜水饺=Three-delicacy dumplings,韭菜盒子=Leek pockets,酸辣汤=Hot and sour soup|4.1
赵家私房菜|Zhao Family Private Kitchen|4|160|红烧肉=Braised pork,佛跳墙=Buddha jumps over the wall,清蒸鲈鱼=Steamed perch|4.7
新禾川菜馆(科学城店)|Xinhe Sichuan Restaurant (Science City)|4|92|麻婆豆腐=Mapo tofu,宫保鸡丁=Kung Pao chicken,水煮牛肉=Spicy boiled beef|4.4
"""
#: Chinese name | English name | quarter | type | price | facilities | rating
_HOTELS = """
古城驿酒店|Old City Post Hotel|1|comfort|360|wifi,breakfast,luggage|4.5
云禾国际大酒店|Yunhe~International~Hotel|1|luxury|880|gym,pool,meeting,parking,wake|4.8
青瓦客栈|Qingwa Inn|1|budget|180|water,luggage|4.2
海棠精品酒店|Haitang Boutique Hotel|1|high-end|560|gym,breakfast,smokefree|4.6
湖畔花园酒店|Lakeside Garden Hotel|2|high-end|520|pool,parking,breakfast|4.7
渡口商务酒店|Ferry Crossing Business Hotel|2|comfort|330|meeting,wifi,wake|4.3
小渔村旅馆|Little Fishing Village Guest House|2|budget|150|water,wifi|4.1
锦鲤亲子酒店|Koi Family Hotel |2|comfort|420|childcare,pool,breakfast|4.5
松涛山庄|Pine Waves Mountain Villa|3|luxury|960|spring,gym,parking,smokefree|4.9
竹溪度假村|Zhuxi Resort|3|high-end|650|spring,pool,breakfast,parking|4.6
岭下青年旅舍|Ridge Foot Youth Hostel|3|budget|90|water,luggage|4.0
松风宾馆|Pine Wind Guest House|3|comfort|290|parking,water|4.4
科学城会议酒店|Science City~Conference Hotel|4|high-end|580|meeting,gym,wifi,smokefree|4.5
大剧院公馆|Grand Theatre Residence|4|luxury|1080|gym,meeting,smokefree,wake|4.7
明灯快捷酒店|Mingdeng Express Hotel|4|budget|210|wifi,water,luggage|4.3
新禾舒适酒店|Xinhe Comfort Hotel|4|comfort|310|breakfast,wifi,wake|4.2
"""
FACILITIES = {
    "wifi": ("Broadband Internet", "宽带上网"),
    "breakfast": ("Breakfast Service", "早餐服务"),
    "luggage": ("Luggage Storage", "行李寄存"),
    "gym": ("Gym", "健身房"),
    "pool": ("Indoor Swimming Pool", "室内游泳池"),
    "meeting": ("Meeting Room", "会议室"),
    "parking": ("Pay Parking", "收费停车位"),
    "wake": ("Wake Up Service", "叫醒服务"),
    "water": ("24-hour Hot Water", "24小时热水"),
    "smokefree": ("Non-smoking Room", "无烟房"),
    "childcare": ("Childcare Services", "看护小孩服务"),
    "spring": ("Hot Spring", "温泉"),
}
TYPES = {"budget": "经济型", "comfort": "舒适型", "high-end": "高档型", "luxury": "豪华型"}
DURATIONS = {
    "1 hour": "1小时",
    "1 hour-2 hours": "1小时 - 2小时",
    "2 hours-3 hours": "2小时 - 3小时",
    "half a day": "半天",
}
_ROADS = {
    1: ("Chengqiang Road", "城墙路"),
    2: ("Yudeng Road", "渔灯路"),
    3: ("Tingsong Road", "听松路"),
    4: ("Xinghe Avenue", "星河大道"),
}
STATIONS = {
    1: ("Gucheng Subway Station Exit B", "古城地铁站B口"),
    2: ("Nandu Wharf Subway Station Exit A", "南渡码头地铁站A口"),
    3: ("", ""),  # the hills have no metro
    4: ("Science City Subway Station Exit D", "科学城地铁站D口"),
}


@dataclass(frozen=True)
class Place:
    """A place with every fact as (English, Chinese); facts that are lists hold several pairs."""

    domain: str
    quarter: int
    name: tuple[str, str]
    number: int
    facts: dict[str, Any]


def build() -> list[Place]:
    dice = Dice("yunhe")
    places = []
    tables = (("Attraction", _ATTRACTIONS), ("Restaurant", _RESTAURANTS), ("Hotel", _HOTELS))
    for domain, table in tables:
        for line in table.strip("\n").splitlines():
            zh, en, quarter, *rest = line.split("|")
            places.append(_place(dice, domain, (en.replace("~", "\xa0"), zh), int(quarter), rest))
    return places


def _place(dice: Dice, domain: str, name: tuple[str, str], quarter: int, rest: list[str]) -> Place:
    road = _ROADS[quarter]
    house = dice.between(1, 199)
    facts: dict[str, Any] = {
        "phone": (f"0999-555{dice.between(1000, 9999)}",) * 2,
        "address": (f"No. {house}, {road[0]}, Yunhe", f"云禾市{road[1]}{house}号"),
        "rating": (f"{rest[-1]} points", f"{rest[-1]}分"),
    }
    number = 0
    if domain == "Attraction":
        number = int(rest[0])
        facts["fee"] = (f"{rest[0]} yuan", f"{rest[0]}元") if number else ("free", "免费")
        facts["duration"] = (rest[1], DURATIONS[rest[1]])
    elif domain == "Restaurant":
        number = int(rest[0])
        facts["cost"] = (f"{rest[0]} yuan", f"{rest[0]}元")
        facts["dishes"] = [tuple(reversed(d.split("="))) for d in rest[1].split(",")]
        hour = dice.between(20, 22)
        facts["open"] = (f"Monday to Sunday 10:00-{hour}:00", f"周一至周日 10:00-{hour}:00")
    else:
        number = int(rest[1])
        facts["type"] = (rest[0], TYPES[rest[0]])
        facts["price"] = (f"{rest[1]} yuan", f"{rest[1]}元")
        facts["Hotel Facilities"] = [FACILITIES[f] for f in rest[2].split(",")]
    return Place(domain, quarter, name, number, facts)


NEARBY = {"nearby attract.": "Attraction", "nearby rest.": "Restaurant", "nearby hotels": "Hotel"}


def nearby(places: list[Place], place: Place, slot: str) -> list[Place]:
    """Places of one domain in the same quarter, at most three."""
    return [p for p in places if p.domain == NEARBY[slot] and p.quarter == place.quarter and p != place][:3]


def constraint(place: Place, slot: str, dice: Dice) -> tuple[str, str] | list[tuple[str, str]]:
    """What a user asks for who would be happy with this place."""
    if slot == "rating":
        rating = float(place.facts["rating"][1][:-1])
        floor = 4.5 if rating >= 4.5 and dice.chance(0.7) else 4
        return f"{floor} points or above", f"{floor}分以上"
    if slot in ("fee", "cost", "price"):
        return _range(slot, place.number)
    if slot == "dishes":
        return dice.some(place.facts["dishes"], 2 if dice.chance(0.2) else 1)
    if slot == "Hotel Facilities":
        return dice.some(place.facts[slot], 2 if dice.chance(0.25) else 1)
    return place.facts[slot]


_RANGES = {
    "fee": (0, 20, 50, 100, 150),
    "cost": (0, 50, 100, 150, 500),
    "price": (0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000),
}


def _range(slot: str, number: int) -> tuple[str, str]:
    if slot == "fee" and not number:
        return "free", "免费"
    bounds = _RANGES[slot]
    if slot == "price" and number >= 1000:
        return "1000 yuan or more", "1000元以上"
    low, high = next((a, b) for a, b in itertools.pairwise(bounds) if a < number <= b)
    if not low:
        return f"{high} yuan or less", f"{high}元以下"
    return f"{low}-{high} yuan", f"{low}-{high}元"


def satisfies(place: Place, slot: str, wish: Any) -> bool:
    """Whether a place fits one wish; list wishes must all be met."""
    if slot == "rating":
        return float(place.facts["rating"][1][:-1]) >= float(wish[1][:-3])
    if slot in ("fee", "cost", "price"):
        return _range(slot, place.number)[0] == wish[0]
    if slot in ("dishes", "Hotel Facilities"):
        return all(w in place.facts[slot] for w in wish)
    return place.facts[slot] == wish


#: Chinese names of domains, acts' slots and dialogue types.
ZH_DOMAINS = {
    "Attraction": "景点",
    "Restaurant": "餐馆",
    "Hotel": "酒店",
    "Metro": "地铁",
    "Taxi": "出租",
    "General": "General",
}
ZH_DOMAINS |= {"thank": "thank", "bye": "bye", "welcome": "welcome", "greet": "greet", "reqmore": "reqmore"}
ZH_SLOTS = {
    "name": "名称",
    "fee": "门票",
    "duration": "游玩时间",
    "rating": "评分",
    "nearby attract.": "周边景点",
    "nearby rest.": "周边餐馆",
    "nearby hotels": "周边酒店",
    "dishes": "推荐菜",
    "cost": "人均消费",
    "type": "酒店类型",
    "Hotel Facilities": "酒店设施",
    "price": "价格",
    "from": "出发地",
    "to": "目的地",
    "from station": "出发地附近地铁站",
    "to station": "目的地附近地铁站",
    "car type": "车型",
    "plate number": "车牌",
    "phone": "电话",
    "address": "地址",
    "open": "营业时间",
    "source domain": "源领域",
    "none": "none",
}
ZH_TYPES = {
    "S": "单领域",
    "M": "独立多领域",
    "M+T": "独立多领域+交通",
    "CM": "不独立多领域",
    "CM+T": "不独立多领域+交通",
}


def zh_slot(slot: str) -> str:
    """The Chinese name of a slot, also of one facility: Hotel Facilities - Gym -> 酒店设施-健身房."""
    if slot.startswith("Hotel Facilities - "):
        return "酒店设施-" + dict(FACILITIES.values())[slot.removeprefix("Hotel Facilities - ")]
    return ZH_SLOTS[slot]
