"""Slots and values of the MultiWOZ-style corpora in both languages, with the ways people put them.

``VALUES[kind][value]`` is (Chinese value, faithful wordings, loose wordings); a wording is
(English, Chinese). The first faithful wording is the value itself. A loose wording means the same
in other words, which is what makes a span differ from the text it points at.
"""

from __future__ import annotations

from dice import Dice
from text import Pair, Value

#: Share of values that are put loosely where a loose wording exists.
LOOSE = 0.25

DAYS = {
    "monday": "星期一",
    "tuesday": "星期二",
    "wednesday": "星期三",
    "thursday": "星期四",
    "friday": "星期五",
    "saturday": "星期六",
    "sunday": "星期日",
}
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ZH_NUMBERS = ["零", "一", "两", "三", "四", "五", "六", "七", "八", "九", "十"]

FOODS = {
    "british": "英国",
    "chinese": "中国",
    "european": "欧洲",
    "french": "法国",
    "indian": "印度",
    "italian": "意大利",
    "japanese": "日本",
    "korean": "韩国",
    "mediterranean": "地中海",
    "mexican": "墨西哥",
    "portuguese": "葡萄牙",
    "spanish": "西班牙",
    "thai": "泰国",
    "turkish": "土耳其",
    "vietnamese": "越南",
}

VALUES: dict[str, dict[str, tuple[str, list[tuple[str, str]], list[tuple[str, str]]]]] = {
    "area": {
        "centre": ("中心", [("centre", "市中心")], [("center", "市中心"), ("middle", "城中心")]),
        "north": ("北方", [("north", "城北"), ("north", "北边")], [("northern part", "北部")]),
        "east": ("东方", [("east", "城东"), ("east", "东边")], [("eastern part", "东部")]),
        "south": ("南方", [("south", "城南"), ("south", "南边")], [("southern part", "南部")]),
        "west": ("西部", [("west", "城西"), ("west", "西边")], [("western part", "西部")]),
    },
    "pricerange": {
        "cheap": ("便宜的", [("cheap", "便宜")], [("inexpensive", "实惠")]),
        "moderate": ("中等的", [("moderate", "适中"), ("moderate", "中等")], [("mid-range", "适中")]),
        "expensive": ("昂贵的", [("expensive", "昂贵")], [("upscale", "高档")]),
    },
    "food": {f: (zh + "的", [(f.capitalize(), zh), (f, zh)], []) for f, zh in FOODS.items()},
    "hoteltype": {
        "hotel": ("酒店", [("hotel", "酒店")], []),
        "guesthouse": ("宾馆", [("guesthouse", "宾馆")], [("guest house", "宾馆"), ("B&B", "民宿宾馆")]),
    },
    "attractiontype": {
        "architecture": ("建筑学", [("architecture", "建筑")], []),
        "boat": ("小船", [("boat", "游船")], []),
        "cinema": ("电影院", [("cinema", "电影院")], [("movie theatre", "影院")]),
        "college": ("学院", [("college", "学院")], []),
        "entertainment": ("娱乐", [("entertainment", "娱乐")], []),
        "museum": ("博物馆", [("museum", "博物馆")], []),
        "nightclub": ("夜店", [("nightclub", "夜店")], [("night club", "夜总会")]),
        "park": ("公园", [("park", "公园")], []),
        "swimming pool": ("游泳池", [("swimming pool", "游泳池")], [("pool", "泳池")]),
        "theatre": ("剧院", [("theatre", "剧院")], [("theater", "剧院")]),
    },
    "stars": {
        str(n): (str(n), [(str(n), ZH_NUMBERS[n])], [(NUMBERS[n], ZH_NUMBERS[n])]) for n in range(1, 6)
    },
    "yesno": {"yes": ("有", [("yes", "有")], []), "no": ("没有", [("no", "没有")], [])},
    "day": {d: (zh, [(d.capitalize(), zh), (d, zh)], []) for d, zh in DAYS.items()},
    "count": {str(n): (str(n), [(str(n), str(n))], [(NUMBERS[n], ZH_NUMBERS[n])]) for n in range(1, 9)},
}

#: Words after an attraction type, so that the phrase reads well: a boat trip, an architecture tour.
TYPE_SUFFIX = {
    "architecture": (" landmark", "名胜"),
    "boat": (" trip", "项目"),
    "entertainment": (" venue", "场所"),
}

#: State slot of each act slot: (part of the metadata, name there, kind in `VALUES`).
STATE_SLOT = {
    "Area": ("semi", "area", "area"),
    "Price": ("semi", "pricerange", "pricerange"),
    "Food": ("semi", "food", "food"),
    "Name": ("semi", "name", "name"),
    "Type": ("semi", "type", "type"),
    "Stars": ("semi", "stars", "stars"),
    "Parking": ("semi", "parking", "yesno"),
    "Internet": ("semi", "internet", "yesno"),
    "Depart": ("semi", "departure", "place"),
    "Dest": ("semi", "destination", "place"),
    "Leave": ("semi", "leaveAt", "time"),
    "Arrive": ("semi", "arriveBy", "time"),
    "Day": ("book", "day", "day"),
    "People": ("book", "people", "count"),
    "Stay": ("book", "stay", "count"),
    "Time": ("book", "time", "time"),
}


def state_slot(domain: str, slot: str) -> tuple[str, str] | None:
    """Where an act slot stands in the metadata of a domain; None if it is no state slot."""
    if slot not in STATE_SLOT:
        return None
    part, name, _ = STATE_SLOT[slot]
    return ("semi" if domain == "train" and slot == "Day" else part), name


def value_of(
    dice: Dice, act: str, slot: str, kind: str, value: str, loose: float = LOOSE, spanned: bool = True
) -> Pair:
    """A value of one of the tables, worded at random."""
    zh, faithful, other = VALUES[kind][value]
    en_surface, zh_surface = dice.pick(other) if other and dice.chance(loose) else dice.pick(faithful)
    return (Value(act, slot, value, en_surface, spanned),), (Value(act, slot, zh, zh_surface, spanned),)


def time_of(dice: Dice, act: str, slot: str, value: str, loose: float = LOOSE) -> Pair:
    """A time HH:MM; loosely 9:15 for 09:15 and 5 pm for 17:00."""
    en, zh = value, value
    hour, minute = map(int, value.split(":"))
    if dice.chance(loose * 1.6):
        half = (
            ("am", "上午")
            if hour < 12
            else ("pm", "中午")
            if hour == 12
            else ("pm", "下午")
            if hour < 18
            else ("pm", "晚上")
        )
        hour12 = (hour - 1) % 12 + 1
        if minute == 0:
            en, zh = f"{hour12} {half[0]}", f"{half[1]}{hour12}点"
        elif hour < 10:
            en, zh = f"{hour}:{minute:02d}", f"{hour}:{minute:02d}"
        else:
            en, zh = f"{hour12}:{minute:02d} {half[0]}", f"{half[1]}{hour12}点{minute}分"
    return (Value(act, slot, value, en),), (Value(act, slot, value, zh),)


def same(act: str, slot: str, value: str, zh_value: str | None = None) -> Pair:
    """A value put exactly as it is (phones, references, prices)."""
    return (Value(act, slot, value, value),), (Value(act, slot, zh_value or value, zh_value or value),)


def hidden(act: str, slot: str, value: str, zh_value: str, en: str, zh: str) -> Pair:
    """A value that words imply without naming it: ``free parking`` for parking = yes. It gets no span."""
    return (Value(act, slot, value, en, False),), (Value(act, slot, zh_value, zh, False),)


#: Names in the Chinese corpus.
ZH_DOMAINS = {
    "Restaurant": "餐厅",
    "Hotel": "旅馆",
    "Attraction": "景点",
    "Train": "列车",
    "Taxi": "出租车",
    "Booking": "预定",
    "general": "常规",
}
ZH_ACTS = {
    "Inform": "通知",
    "Request": "请求",
    "NoOffer": "无结果",
    "Recommend": "推荐",
    "Select": "选择",
    "OfferBook": "提供预定",
    "OfferBooked": "完成预定",
    "Book": "预定",
    "NoBook": "无预定",
    "reqmore": "更多请求",
    "thank": "谢谢",
    "bye": "再见",
    "welcome": "欢迎",
    "greet": "问好",
}
ZH_SLOTS = {
    "Area": "区域",
    "Price": "价格",
    "Food": "食物",
    "Name": "名称",
    "Type": "类型",
    "Stars": "星级",
    "Parking": "停车处",
    "Internet": "互联网",
    "Day": "日期",
    "People": "人数",
    "Stay": "停留天数",
    "Time": "时间",
    "Dest": "目的地",
    "Depart": "出发地",
    "Leave": "出发时间",
    "Arrive": "到达时间",
    "Addr": "地址",
    "Phone": "电话",
    "Post": "邮编",
    "Fee": "费用",
    "Choice": "选项数量",
    "Ref": "参考编号",
    "Id": "列车号",
    "Ticket": "票价",
    "Car": "车型",
    "none": "none",
}
