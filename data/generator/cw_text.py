"""Templates of the CrossWOZ-style corpora, English and Chinese."""

GREET = [("Hello,", "你好，"), ("Hi,", "您好，"), ("Good morning,", "早上好，"), ("Hello there,", "你好啊，")]
THING = {
    "Attraction": [
        ("an attraction", "一个", "景点"),
        ("a scenic spot", "一处", "景点"),
    ],
    "Restaurant": [("a restaurant", "一家", "餐馆"), ("a place to eat", "一家", "吃饭的地方")],
    "Hotel": [("a hotel", "一家", "酒店")],
}
#: {np} is the wish with its qualities.
OPEN = {
    "Attraction": [
        ("can you recommend {np}?", "能推荐{np}吗？"),
        ("I want to visit {np}. Any suggestions?", "我想去{np}玩，有推荐吗？"),
        ("I have a day off and would like to see {np}.", "我有一天假，想去{np}看看。"),
        ("we are taking the kids out, is there {np}?", "我们要带孩子出去玩，有{np}吗？"),
        ("please find me {np}.", "请帮我找{np}。"),
    ],
    "Restaurant": [
        ("I am looking for {np}.", "我想找{np}。"),
        ("my friends and I want to eat out, is there {np}?", "我和朋友想出去吃饭，有{np}吗？"),
        ("which place would you suggest? I want {np}.", "您推荐哪里？我想去{np}。"),
        ("please help me find {np} for dinner.", "请帮我找{np}吃晚饭。"),
        ("can you recommend {np}?", "能推荐{np}吗？"),
    ],
    "Hotel": [
        ("I need {np}.", "我需要{np}。"),
        ("help me find {np}, please.", "请帮我找{np}。"),
        ("I'm on a business trip and want to stay at {np}.", "我来出差，想住{np}。"),
        ("is there {np} you can recommend?", "有{np}推荐吗？"),
        ("we want to book {np}.", "我们想订{np}。"),
    ],
}
NEXT = [
    ("Then I also want {np}.", "然后我还想找{np}。"),
    ("OK. Please find me {np} as well.", "好的。请再帮我找{np}。"),
    ("Got it. I also need {np}.", "知道了。我还需要{np}。"),
    ("Great, next I am looking for {np}.", "太好了，接下来我想找{np}。"),
    ("By the way, is there {np}?", "对了，有{np}吗？"),
]
QUALITY = {
    "fee": [("a ticket price of {v}", "门票{v}"), ("tickets at {v}", "门票价格{v}")],
    "fee0": [("{v} admission", "门票{v}")],
    "duration": [("a visit of {v}", "游玩时间{v}")],
    "rating": [("a rating of {v}", "评分{v}"), ("a score of {v}", "评分在{v}")],
    "cost": [("a cost of {v} per person", "人均消费{v}"), ("a per-person cost of {v}", "人均{v}")],
    "dishes": [("{v} on the menu", "有{v}"), ("good {v}", "能吃到{v}")],
    "price": [("a price of {v}", "价格{v}"), ("rooms at {v}", "价格在{v}")],
    "Hotel Facilities": [("{v}", "提供{v}"), ("{v} available", "有{v}")],
}
PICK_NEARBY = [
    ("Among those {things}, is there one with {list}?", "这些{things}里，哪个{list}？"),
    ("Of the {things} you just mentioned, which one has {list}?", "刚才说的{things}中，哪个{list}？"),
]
BY_NAME = [
    ("I want to go to {name}. {ask}", "我想去{name}。{ask}"),
    ("I've heard of {name}. {ask}", "我听说过{name}。{ask}"),
    ("we plan to go to {name} tomorrow. {ask}", "我们打算明天去{name}。{ask}"),
]
ASK_LEAD = [
    ("Please tell me the {list}.", "请告诉我{list}。"),
    ("What is the {list}?", "{list}是什么？"),
    ("Can you tell me the {list}?", "能告诉我{list}吗？"),
]
ASK = [
    ("OK, what is the {list}?", "好的，{list}是什么？"),
    ("That sounds good. Please tell me the {list}.", "听起来不错。请告诉我{list}。"),
    ("I'd like to know its {list}.", "我想知道它的{list}。"),
    ("Can you tell me the {list} of {name}?", "能告诉我{name}的{list}吗？"),
    ("Fine, I'll go there. What about the {list}?", "行，就去这里吧。{list}呢？"),
]
ASK_NAMED = [
    ("{name} sounds good. What is its {list}?", "{name}听起来不错，它的{list}是什么？"),
    ("I'll take {name}. Please tell me the {list}.", "那就{name}吧，请告诉我{list}。"),
    ("Can you tell me the {list} of {name}?", "能告诉我{name}的{list}吗？"),
]
ASK_NEARBY = [
    ("What {things} are there near {name}?", "{name}周边有什么{things}？"),
    ("Are there any {things} nearby?", "附近有{things}吗？"),
    ("I'd also like to know the {things} around it.", "我还想知道它周边的{things}。"),
]
ASK_FACILITY = [("Does it offer {v}?", "它提供{v}吗？"), ("Is there {v}?", "有{v}吗？")]
THINGS = {
    "Attraction": ("attractions", "景点"),
    "Restaurant": ("restaurants", "餐馆"),
    "Hotel": ("hotels", "酒店"),
}
NOUN = {
    "phone": ("phone number", "电话"),
    "address": ("address", "地址"),
    "rating": ("rating", "评分"),
    "fee": ("ticket price", "门票"),
    "duration": ("duration of a visit", "游玩时间"),
    "cost": ("cost per person", "人均消费"),
    "dishes": ("recommended dishes", "推荐菜"),
    "open": ("opening hours", "营业时间"),
    "type": ("hotel type", "酒店类型"),
    "price": ("price", "价格"),
    "car type": ("car type", "车型"),
    "plate number": ("plate number", "车牌"),
}
CHANGE = [
    ("Hmm, I changed my mind. I'd rather have {q}.", "嗯，我改主意了，还是想要{q}的。"),
    ("Sorry, could you look for {q} instead?", "不好意思，能换成{q}的吗？"),
    ("On second thought, {q} would be better.", "再想想，{q}的更好。"),
]
METRO = [
    (
        "I want to take the metro from {a} to {b}. Which stations are closest?",
        "我想从{a}坐地铁到{b}，最近的地铁站分别是哪个？",
    ),
    (
        "Please tell me the subway stations near {a} and {b}, I'm going from the first to the second.",
        "请告诉我{a}和{b}附近的地铁站，我要从前者去后者。",
    ),
]
TAXI = [
    (
        "Please call a taxi from {a} to {b} and tell me the car type and plate number.",
        "请帮我叫一辆从{a}到{b}的出租车，告诉我车型和车牌。",
    ),
    (
        "I'd like to take a taxi from {a} to {b}. What are the car type and plate number?",
        "我想从{a}打车到{b}，车型和车牌是什么？",
    ),
]
THANK = [
    ("OK, thank you.", "好的，谢谢你。"),
    ("Thank you very much!", "非常感谢！"),
    ("Great, thanks for your help.", "太好了，谢谢你的帮助。"),
    ("That's all, thank you. Bye!", "就这些，谢谢。再见！"),
    ("Got it, thanks a lot.", "明白了，多谢。"),
]

# --- the assistant
OFFER = [
    ("I recommend {name}.", "推荐您去{name}。"),
    ("How about {name}?", "{name}怎么样？"),
    ("You can go to {name}.", "您可以去{name}。"),
    ("{name} meets your requirements.", "{name}符合您的要求。"),
    ("{name} is a good choice.", "{name}是个不错的选择。"),
]
OFFER_TWO = [
    ("{list} both meet your requirements.", "{list}都符合您的要求。"),
    ("I would suggest {list}.", "我建议{list}。"),
    ("You can choose between {list}.", "您可以在{list}之间选择。"),
]
OFFER_MANY = [
    ("{list} all meet your requirements.", "{list}都符合您的要求。"),
    ("There are several choices: {list}.", "有好几个选择：{list}。"),
    ("You can choose from {list}.", "您可以从{list}中选择。"),
]
NOOFFER = [
    (
        "Sorry, nothing meets all of that. {name} comes close, but with {q}.",
        "抱歉，没有完全符合的。{name}比较接近，不过{q}。",
    ),
    (
        "There is no such place, I'm afraid. You could consider {name}, it has {q}.",
        "恐怕没有这样的地方。您可以考虑{name}，{q}。",
    ),
]
FACT = {
    "phone": [("The phone number is {v}.", "电话是{v}。"), ("You can call {v}.", "您可以拨打{v}。")],
    "address": [("The address is {v}.", "地址是{v}。"), ("It is at {v}.", "在{v}。")],
    "rating": [("It is rated {v}.", "评分是{v}。"), ("The rating is {v}.", "评分{v}。")],
    "fee": [("The ticket costs {v}.", "门票{v}。"), ("Tickets are {v}.", "门票是{v}。")],
    "fee0": [("Admission is {v}.", "门票{v}。"), ("It is {v}.", "是{v}的。")],
    "duration": [("A visit takes {v}.", "游玩时间是{v}。"), ("You can stay for {v}.", "可以玩{v}。")],
    "cost": [("The cost per person is {v}.", "人均消费是{v}。"), ("It is about {v} each.", "人均{v}左右。")],
    "dishes": [
        ("The recommended dishes are {v}.", "推荐菜有{v}。"),
        ("You should try {v}.", "您可以尝尝{v}。"),
    ],
    "open": [("It is open {v}.", "营业时间是{v}。")],
    "type": [("It is a {v} hotel.", "是{v}酒店。")],
    "price": [("A room costs {v}.", "价格是{v}。"), ("The price is {v}.", "价格{v}。")],
}
NEARBY_FACT = [
    ("Nearby {things} include {v}.", "周边的{things}有{v}。"),
    ("There are {v} around.", "附近有{v}。"),
]
NEARBY_NONE = [("There are no {things} nearby.", "周边没有{things}。")]
FACILITY_YES = [("Yes, it does offer {v}.", "有的，提供{v}。"), ("It has {v}.", "有{v}。")]
FACILITY_NO = [("Sorry, it doesn't offer {v}.", "抱歉，不提供{v}。")]
METRO_ANSWER = [
    (
        "The nearest station to the start is {a}, and to the destination {b}.",
        "出发地附近的地铁站是{a}，目的地附近的是{b}。",
    ),
    ("You get on at {a} and get off at {b}.", "您在{a}上车，在{b}下车。"),
]
METRO_NONE = ("There is no metro station near {name}, I'm afraid.", "恐怕{name}附近没有地铁站。")
TAXI_ANSWER = [
    ("The car type is {a} and the plate number is {b}.", "车型是{a}，车牌是{b}。"),
    ("OK, it is booked. Car type {a}, plate {b}.", "好的，已叫车。车型{a}，车牌{b}。"),
]
WELCOME = [
    ("You're welcome.", "不客气。"),
    ("My pleasure, have a good trip!", "不用谢，祝您玩得愉快！"),
    ("You are welcome, goodbye!", "不客气，再见！"),
    ("Glad to serve you.", "很高兴为您服务。"),
]
