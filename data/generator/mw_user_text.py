"""What users of the MultiWOZ-style corpora say: pairs of English and Chinese templates by purpose.

``{np}`` is a noun phrase ("a cheap hotel in the north"), other placeholders are values or lists.
"""

HELLO = [
    ("Hello.", "你好。"),
    ("Hi there.", "您好。"),
    ("Good morning!", "早上好！"),
    ("Hi, I could use some help.", "你好，我需要帮忙。"),
    ("I'm planning a trip to Brindlewick.", "我正计划去布林德威克旅行。"),
    ("We are visiting Brindlewick soon.", "我们很快要来布林德威克。"),
]

OPEN = {
    "restaurant": [
        ("I'm looking for {np}.", "我想找{np}。"),
        ("Can you help me find {np}?", "能帮我找{np}吗？"),
        ("I would like to eat at {np}.", "我想去{np}吃饭。"),
        ("Do you know of {np}?", "您知道哪里有{np}吗？"),
        ("Could you suggest {np}?", "能推荐{np}吗？"),
        ("We would love to try {np}.", "我们想去{np}尝尝。"),
        ("I am hungry, please find me {np}.", "我饿了，请帮我找{np}。"),
    ],
    "hotel": [
        ("I need {np}.", "我需要{np}。"),
        ("I'm looking for {np}.", "我在找{np}。"),
        ("Can you find me {np}?", "能帮我找{np}吗？"),
        ("We would like to book {np}.", "我们想订{np}。"),
        ("Is there {np} you would recommend?", "有没有{np}可以推荐？"),
        ("I have to find {np} for our trip.", "我得为这次旅行找{np}。"),
    ],
    "attraction": [
        ("I would like to visit {np}.", "我想参观{np}。"),
        ("Is there {np} worth seeing?", "有没有{np}值得一看？"),
        ("Can you suggest {np}?", "能推荐{np}吗？"),
        ("I'm looking for {np} to fill an afternoon.", "我想找{np}打发一个下午。"),
        ("What about {np}? We have some free time.", "有{np}吗？我们有些空闲时间。"),
    ],
}
NEXT = [
    ("I also need {np}.", "我还需要{np}。"),
    ("Great. Next, could you find me {np}?", "太好了。接下来能帮我找{np}吗？"),
    ("Thanks! I am also looking for {np}.", "谢谢！我还想找{np}。"),
    ("Perfect, and is there {np} as well?", "很好，另外有没有{np}？"),
    ("Thank you. Besides that, I want {np}.", "谢谢。除此之外，我还想要{np}。"),
    ("One more thing, I'm after {np}.", "还有一件事，我想找{np}。"),
]
NEXT_VISIT = [
    ("I would also like to visit {np}.", "我还想参观{np}。"),
    ("Thanks! We also want to see {np}.", "谢谢！我们还想看看{np}。"),
    ("Great. After that, is there {np} to visit?", "太好了。之后有没有{np}可以参观？"),
    ("And could you suggest {np}?", "另外能推荐{np}吗？"),
]
GO_ON = [
    ("Thanks.", "谢谢。"),
    ("Okay, great.", "好的，太好了。"),
    ("One more thing.", "还有一件事。"),
    ("Thank you!", "谢谢！"),
]
OPEN_NAME = [
    ("Do you have any information about {name}?", "有{name}的信息吗？"),
    ("I have heard good things about {name}. Can you tell me more?", "听说{name}不错，能多介绍一下吗？"),
    ("I'm looking for a particular place called {name}.", "我想找一个叫{name}的地方。"),
    ("A friend told me about {name}.", "朋友跟我提过{name}。"),
]

#: Answers to a question for one slot.
ANSWER = {
    "Area": [
        ("In the {v}, please.", "请找{v}的。"),
        ("The {v} would be best.", "最好在{v}。"),
        ("I'd prefer the {v}.", "我更喜欢{v}。"),
        ("Somewhere in the {v} of town.", "在{v}就行。"),
    ],
    "Price": [
        ("Something {v}, please.", "价格{v}的就好。"),
        ("I'd like something {v}.", "我想要价格{v}的。"),
        ("It should be {v}.", "价格应该{v}。"),
    ],
    "Food": [
        ("I would like {v} food.", "我想吃{v}菜。"),
        ("{v} food sounds good.", "{v}菜听起来不错。"),
        ("We are in the mood for {v}.", "我们想吃{v}菜。"),
    ],
    "Type": [
        ("@A {v} would be nice.", "{v}就挺好。"),
        ("I was thinking of @a {v}.", "我想的是{v}。"),
        ("Preferably @a {v}.", "最好是{v}。"),
    ],
    "Stars": [
        ("@A {v} star place would be ideal.", "最好是{v}星级的。"),
        ("I would like a {v} star place.", "要{v}星级的。"),
    ],
    "Parking": [
        ("Yes, {v}, since we come by car.", "对，{v}，因为我们开车来。"),
        ("It has to offer {v}.", "必须{v}。"),
    ],
    "Internet": [("It should offer {v}.", "要{v}。"), ("I need {v} for my work.", "要{v}，我工作需要。")],
    "Depart": [("I'll be leaving from {v}.", "我从{v}出发。"), ("From {v}, please.", "从{v}出发。")],
    "Dest": [("I'm going to {v}.", "我要去{v}。"), ("I need to get to {v}.", "我需要到{v}。")],
    "Day": [("I'm travelling on {v}.", "我{v}出行。"), ("On {v}, please.", "{v}。")],
    "Leave": [
        ("I'd like to leave after {v}.", "我想{v}以后出发。"),
        ("Any time after {v} works for me.", "{v}以后都可以。"),
    ],
    "Arrive": [
        ("I have to arrive by {v}.", "我必须{v}之前到。"),
        ("It should get in by {v}.", "要在{v}前到达。"),
    ],
    "People": [("It's for {v} people.", "一共{v}个人。"), ("There will be {v} of us.", "我们有{v}个人。")],
    "Stay": [("We'll stay {v} nights.", "我们住{v}晚。"), ("For {v} nights, please.", "住{v}晚。")],
    "Time": [("At {v}, please.", "{v}吧。"), ("Could you make it {v}?", "可以订{v}吗？")],
}
#: Indifference: English before, marked, after; Chinese before, marked, after.
DONTCARE = [
    ("", "Any", " {noun} is fine.", "{noun}", "都可以", "。"),
    ("I ", "don't care", " about the {noun}.", "{noun}我", "不在意", "。"),
    ("I have ", "no preference", " for the {noun}.", "{noun}方面我", "没有要求", "。"),
    ("The {noun} ", "doesn't matter", " to me.", "{noun}对我来说", "无所谓", "。"),
]
CHANGE = [
    ("Actually, could we make that {change} instead?", "其实，能不能改成{change}？"),
    ("Sorry, I changed my mind. I want {change}.", "不好意思，我改主意了，想要{change}。"),
    ("Hmm, on second thought, {change} would suit us better.", "嗯，再想想，{change}更适合我们。"),
    ("Wait, my partner would rather have {change}.", "等等，我爱人更想要{change}。"),
]
RETRY = [
    ("How about {change} then?", "那{change}呢？"),
    ("Okay, then please try {change}.", "好吧，那请试试{change}。"),
    ("That's a pity. Is there {change}?", "真可惜。有{change}吗？"),
    ("What about {change} instead?", "换成{change}怎么样？"),
]
ASK = [
    ("Can I get the {list}, please?", "能告诉我{list}吗？"),
    ("What is the {list}?", "请问{list}是什么？"),
    ("I'd like to know the {list}.", "我想知道{list}。"),
    ("Could you give me the {list}?", "可以给我{list}吗？"),
    ("That sounds good. I need the {list}.", "听起来不错，我需要{list}。"),
    ("Please tell me the {list}.", "请告诉我{list}。"),
]
ASK_MORE = [
    ("You forgot the {list}.", "您还没告诉我{list}。"),
    ("And the {list}, please?", "还有{list}呢？"),
]
BOOK = [
    ("Yes, please book it {how}.", "好的，请帮我预订{how}。"),
    ("That sounds great. I need a reservation {how}.", "听起来很棒，我要预订{how}。"),
    ("Let's take it. Can you book it {how}?", "就这家吧。能帮我订{how}吗？"),
    ("Okay, I'd like to book {how}.", "好，我想订{how}。"),
    ("Sure, please reserve {how} and give me the reference number.", "好的，请预订{how}，并把参考编号给我。"),
]
BOOK_REST = [
    ("{how}, please.", "嗯，{how}。"),
    ("It would be {how}.", "应该是{how}。"),
    ("Make it {how}.", "就订{how}吧。"),
]
DECLINE = [
    ("No need to book, thanks. {more}", "不用预订，谢谢。{more}"),
    ("Not right now. {more}", "暂时不用。{more}"),
    ("I don't need a booking yet. {more}", "现在还不用订。{more}"),
]
TRAIN_OPEN = [
    ("I need a train {how}.", "我需要一趟{how}的火车。"),
    ("I'm looking for a train {how}.", "我想找一趟{how}的火车。"),
    ("Can you help me with a train {how}?", "能帮我查一趟{how}的火车吗？"),
    ("Are there any trains {how}?", "有{how}的火车吗？"),
]
TRAIN_NEXT = [
    ("I also need a train {how}.", "我还需要一趟{how}的火车。"),
    ("Great. Now I need a train {how}.", "太好了。现在我需要一趟{how}的火车。"),
    ("Thanks! We will take a train {how} too.", "谢谢！我们还要坐一趟{how}的火车。"),
]
TRAIN_BOOK = [
    ("Yes, please book {v} tickets.", "好的，请订{v}张票。"),
    ("That works. I need it for {v} people.", "可以，我要订{v}个人的。"),
    (
        "Perfect, reserve seats for {v} of us and tell me the reference number.",
        "很好，请给我们{v}个人订座，并告诉我参考编号。",
    ),
]
TRAIN_BOOK_ONE = [
    ("Yes, just {v} ticket for me, please.", "好的，给我订{v}张票就行。"),
    ("That works. It's only {v} person.", "可以，只有{v}个人。"),
]
TAXI_OPEN = [
    ("I need a taxi {how}.", "我需要一辆{how}的出租车。"),
    ("Can you book me a taxi {how}?", "能帮我叫一辆{how}的出租车吗？"),
    ("Please get me a cab {how}.", "请给我叫一辆{how}的车。"),
]
TAXI_NEXT = [
    ("I will also need a taxi {how}.", "我还需要一辆{how}的出租车。"),
    ("Great. Could you also get us a taxi {how}?", "太好了。能再帮我们叫一辆{how}的出租车吗？"),
    ("Last thing, I'd like a taxi {how}.", "最后，我想要一辆{how}的出租车。"),
]
CLOSE = [
    ("That's everything, thank you. Goodbye!", "就这些，谢谢。再见！"),
    ("No, that's all I need. Thanks for your help!", "不用了，我要的都有了。谢谢您的帮助！"),
    ("Thank you, that is all. Bye.", "谢谢，没别的了。再见。"),
    ("Nothing else, thanks a lot.", "没有别的了，非常感谢。"),
    ("You've been very helpful, thanks. Have a good day.", "您帮了大忙，谢谢。祝您愉快。"),
    ("I am all set, thank you!", "都办好了，谢谢！"),
]
THANKS = [
    ("Thank you so much.", "非常感谢。"),
    ("Great, thanks.", "太好了，谢谢。"),
    ("Wonderful, thank you!", "太棒了，谢谢！"),
]

#: How a slot is called when it is asked for.
NOUN = {
    "Area": ("area", "区域"),
    "Price": ("price range", "价格范围"),
    "Food": ("type of food", "菜系"),
    "Type": ("type", "类型"),
    "Stars": ("star rating", "星级"),
    "Parking": ("parking situation", "停车情况"),
    "Internet": ("internet access", "网络情况"),
    "Depart": ("departure point", "出发地"),
    "Dest": ("destination", "目的地"),
    "Leave": ("departure time", "出发时间"),
    "Arrive": ("arrival time", "到达时间"),
    "Day": ("day", "日期"),
    "People": ("number of people", "人数"),
    "Stay": ("number of nights", "停留天数"),
    "Time": ("time", "时间"),
    "Addr": ("address", "地址"),
    "Phone": ("phone number", "电话"),
    "Post": ("postcode", "邮编"),
    "Fee": ("entrance fee", "门票费用"),
    "Ticket": ("ticket price", "票价"),
    "Duration": ("travel time", "行程时间"),
    "Id": ("train ID", "列车号"),
    "Car": ("car type", "车型"),
}
