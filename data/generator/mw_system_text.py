"""What the assistant of the MultiWOZ-style corpora says: pairs of templates by dialogue act."""

#: Questions for one slot.
REQUEST = {
    "Area": [
        ("Which part of town would you like?", "您想要城里哪个区域？"),
        ("Do you have an area in mind?", "您心目中有什么区域吗？"),
        ("What area are you looking for?", "您要找哪个区域的？"),
    ],
    "Price": [
        ("What price range are you thinking of?", "您考虑什么价位？"),
        ("Do you have a price range in mind?", "您对价格有什么要求吗？"),
        ("How much would you like to spend?", "您的预算大概是多少？"),
    ],
    "Food": [
        ("What type of food would you like?", "您想吃哪种菜？"),
        ("Is there a cuisine you prefer?", "您喜欢什么菜系？"),
        ("Any kind of food in particular?", "有特别想吃的菜吗？"),
    ],
    "Type": [
        ("What type of place do you prefer?", "您喜欢哪种类型的？"),
        ("Is there a certain type you have in mind?", "您想要什么类型的？"),
    ],
    "Stars": [
        ("How many stars should it have?", "您要几星级的？"),
        ("Do you have a star rating in mind?", "对星级有要求吗？"),
    ],
    "Parking": [
        ("Do you need parking?", "您需要停车位吗？"),
        ("Will you be arriving by car?", "您会开车来吗？"),
    ],
    "Internet": [
        ("Do you need internet access?", "您需要上网吗？"),
        ("Is wifi important to you?", "无线网络重要吗？"),
    ],
    "Depart": [
        ("Where will you be leaving from?", "您从哪里出发？"),
        ("What is your departure point?", "您的出发地是哪里？"),
    ],
    "Dest": [("Where are you heading?", "您要去哪里？"), ("What is your destination?", "您的目的地是哪里？")],
    "Day": [
        ("What day will you be travelling?", "您哪天出行？"),
        ("Which day would you like?", "您要哪一天的？"),
    ],
    "Leave": [
        ("What time would you like to leave?", "您想什么时候出发？"),
        ("When do you want to depart?", "您打算几点走？"),
    ],
    "People": [("How many people will there be?", "一共多少人？"), ("For how many people?", "几位？")],
    "Stay": [("How many nights will you be staying?", "您要住几晚？"), ("For how many nights?", "住几晚？")],
    "Time": [("What time would you like?", "您想订几点？"), ("At what time?", "几点？")],
    "BookDay": [("What day would you like it for?", "您想订哪一天？"), ("On which day?", "哪一天？")],
}
REQUEST_TWO = [
    ("Do you have a preference for the {a} or the {b}?", "您对{a}或{b}有偏好吗？"),
    ("Could you tell me the {a} and the {b} you have in mind?", "能告诉我您想要的{a}和{b}吗？"),
]
CHOICE = [
    ("There are {n} {heads} that match.", "有{n}家符合要求的{heads}。"),
    ("I have found {n} {heads} for you.", "我为您找到了{n}家{heads}。"),
    ("I have {n} {heads} like that.", "这样的{heads}有{n}家。"),
    ("We have {n} {heads} that fit.", "我们有{n}家合适的{heads}。"),
]
CHOICE_ONE = [
    ("There is {n} {heads} that matches.", "有{n}家符合要求的{heads}。"),
    ("I found {n} {heads} like that.", "我找到{n}家这样的{heads}。"),
]
SURE = [
    ("I can help you with that.", "我可以帮您。"),
    ("Sure thing.", "当然可以。"),
    ("Of course.", "没问题。"),
    ("Okay, let me look that up.", "好的，我来查一下。"),
    ("Certainly!", "好的！"),
]
#: Offers without and with facts about the place; the first placeholder carries act Recommend or Inform.
OFFER_BARE = [
    ("I would recommend {name}.", "我推荐{name}。"),
    ("How about {name}?", "{name}怎么样？"),
    ("{name} might be just right for you.", "{name}应该很适合您。"),
    ("I suggest {name}.", "我建议您去{name}。"),
]
OFFER = {
    "restaurant": [
        (
            "{name} is @a {price} {food} restaurant in the {area}.",
            "{name}是{area}一家价格{price}的{food}餐厅。",
        ),
        ("{name} serves {food} food and is in the {area}.", "{name}供应{food}菜，位于{area}。"),
        (
            "There is {name} in the {area}, it serves {food} food at @a {price} price.",
            "{area}有{name}，供应{food}菜，价格{price}。",
        ),
        (
            "You could try {name}. It's @a {price} place in the {area}.",
            "您可以试试{name}，在{area}，价格{price}。",
        ),
        ("I found {name}, which serves {food} dishes.", "我找到了{name}，那里有{food}菜。"),
    ],
    "hotel": [
        ("{name} is @a {price} {type} in the {area}.", "{name}是{area}一家价格{price}的{type}。"),
        ("{name} is @a {type} with {stars} stars.", "{name}是一家{stars}星级的{type}。"),
        (
            "There is {name}, @a {type} in the {area} with {stars} stars.",
            "{area}有{name}，是{stars}星级的{type}。",
        ),
        (
            "You could stay at {name}. It's in the {area}, the price is {price}.",
            "您可以住{name}，在{area}，价格{price}。",
        ),
    ],
    "attraction": [
        ("{name} is @a {type} in the {area}.", "{name}是{area}的{type}。"),
        ("There is @a {type} called {name} in the {area}.", "{area}有一个叫{name}的{type}。"),
        ("Many visitors like {name}. It's in the {area}.", "很多游客喜欢{name}，它在{area}。"),
    ],
}
SELECT = [
    (
        "You can choose between {a} and {b}. Which one sounds better?",
        "您可以在{a}和{b}之间选择。哪一家更合适？",
    ),
    ("I have {a} and {b}. Do you have a favourite?", "我这里有{a}和{b}。您更喜欢哪家？"),
]
ASK_BOOKING = [
    ("Would you like me to book it?", "需要我帮您预订吗？"),
    ("Shall I make a reservation?", "要预订吗？"),
    ("Would you like to make a booking?", "您想预订吗？"),
]
ASK_MORE = [
    ("Would you like more information?", "您想了解更多信息吗？"),
    ("Is there anything else you would like to know?", "您还想知道什么吗？"),
    ("Can I help you with anything else?", "还有什么可以帮您？"),
    ("Anything else?", "还有别的吗？"),
    ("What else can I do for you today?", "今天还能为您做什么？"),
]
NOOFFER = [
    ("I'm sorry, there is no {np}.", "抱歉，没有{np}。"),
    ("Unfortunately I could not find {np}.", "很遗憾，没有找到{np}。"),
    ("I don't have {np}, I'm afraid.", "恐怕没有{np}。"),
]
TRY_OTHER = [
    ("Would you like to try something else?", "要换别的试试吗？"),
    ("Can I look for something different?", "需要我找找别的吗？"),
    ("Shall I change one of your criteria?", "要不要换一个条件？"),
]
FACT = {
    "Phone": [
        ("The phone number is {v}.", "电话是{v}。"),
        ("You can call them at {v}.", "您可以拨打{v}。"),
        ("Their number is {v}.", "他们的电话是{v}。"),
    ],
    "Addr": [
        ("The address is {v}.", "地址是{v}。"),
        ("It is located at {v}.", "它位于{v}。"),
        ("You will find it at {v}.", "您可以在{v}找到它。"),
    ],
    "Post": [("The postcode is {v}.", "邮编是{v}。"), ("Its post code is {v}.", "它的邮编是{v}。")],
    "Fee": [("The entrance fee is {v}.", "门票费用是{v}。"), ("Admission costs {v}.", "入场费是{v}。")],
    "Fee?": [
        ("I don't know the entrance fee, I'm afraid. Please call them.", "恐怕我不知道门票费用，请致电询问。")
    ],
    "Fee0": [("Entrance is {v}.", "入场{v}。"), ("Admission is {v}.", "门票{v}。")],
    "Area": [("It is in the {v}.", "它在{v}。"), ("You will find it in the {v}.", "它位于{v}。")],
    "Price": [("The price range is {v}.", "价格{v}。"), ("It is {v}.", "那里价格{v}。")],
    "Food": [("They serve {v} food.", "他们供应{v}菜。")],
    "Type": [("It is @a {v}.", "它是{v}。")],
    "Stars": [("It has {v} stars.", "它是{v}星级的。")],
    "Parking": [("They have {v}.", "他们{v}。")],
    "Internet": [("They offer {v}.", "他们{v}。")],
    "Ticket": [("The ticket costs {v}.", "票价是{v}。"), ("The price is {v} per ticket.", "每张票{v}。")],
    "Time": [("The journey takes {v}.", "行程需要{v}。"), ("It is a trip of {v}.", "全程{v}。")],
    "Id": [("The train ID is {v}.", "列车号是{v}。")],
    "Leave": [("It leaves at {v}.", "{v}出发。")],
    "Arrive": [("It arrives at {v}.", "{v}到达。")],
}
BOOKED = [
    ("Your booking was successful. The reference number is {ref}.", "预订成功。参考编号是{ref}。"),
    ("I have booked it for you. Your reference is {ref}.", "已经为您订好了。您的参考编号是{ref}。"),
    (
        "All done! {name} is expecting you, reference number {ref}.",
        "办好了！{name}恭候您的光临，参考编号{ref}。",
    ),
    ("You are booked at {name}. Your reference number is {ref}.", "已为您预订{name}，您的参考编号是{ref}。"),
    (
        "Booked for {people} people on {day}. The reference number is {ref}.",
        "已预订{day}{people}个人。参考编号是{ref}。",
    ),
]
NOBOOK = [
    ("I'm sorry, {name} is fully booked then.", "抱歉，{name}那时已经订满了。"),
    ("Unfortunately that was not available.", "很遗憾，那个时段没有空位。"),
    ("The booking didn't go through, I'm sorry.", "抱歉，预订没有成功。"),
]
NOBOOK_ASK = {
    "Time": [
        ("Would another time work?", "换个时间可以吗？"),
        ("Can you try a different time?", "能换个时间试试吗？"),
    ],
    "Stay": [
        ("Would a shorter stay work?", "住短一点可以吗？"),
        ("Could you stay fewer nights?", "能少住几晚吗？"),
    ],
}
TRAIN_OFFER = [
    ("{id} leaves at {leave} and arrives at {arrive}.", "{id}次列车{leave}出发，{arrive}到达。"),
    ("There is a train, {id}, that leaves {depart} at {leave}.", "有一趟{id}次列车，{leave}从{depart}出发。"),
    (
        "{id} gets to {dest} at {arrive}. A ticket is {ticket}.",
        "{id}次列车{arrive}到达{dest}，票价{ticket}。",
    ),
    (
        "I have {id} on {day}, departing at {leave} and arriving at {arrive}.",
        "{day}有{id}次列车，{leave}出发，{arrive}到达。",
    ),
]
TRAIN_BOOKED = [
    ("Your seats are booked. The reference number is {ref}.", "座位已订好。参考编号是{ref}。"),
    (
        "I have booked {id} for you, the total is {ticket}. Your reference is {ref}.",
        "已为您预订{id}次列车，总价{ticket}。参考编号是{ref}。",
    ),
    (
        "Done! The total fee is {ticket}, payable at the station. Reference number: {ref}.",
        "完成！总费用{ticket}，在车站支付。参考编号：{ref}。",
    ),
]
TRAIN_BOOKING = [
    ("Would you like me to book it?", "需要我帮您订票吗？"),
    ("Shall I book tickets for you?", "要为您订票吗？"),
    ("Does that work for you?", "这趟合适吗？"),
]
TAXI_DONE = [
    (
        "Your taxi is booked. Look for a {car}, the contact number is {phone}.",
        "出租车已订好。车型是{car}，联系电话{phone}。",
    ),
    ("A {car} will pick you up. The contact number is {phone}.", "一辆{car}会来接您。联系电话是{phone}。"),
    ("Booking completed! Car type: {car}, phone: {phone}.", "预订完成！车型：{car}，电话：{phone}。"),
]
TAXI_HALF = [("Your taxi is booked, a {car} will pick you up.", "出租车已订好，一辆{car}会来接您。")]
WELCOME = [
    ("You're welcome. Anything else?", "不客气。还有别的吗？"),
    ("My pleasure. Is there anything else I can help with?", "很高兴为您服务。还有什么可以帮忙的吗？"),
    ("Glad to help. Do you need anything else?", "乐意效劳。您还需要什么吗？"),
]
BYE = [
    ("Have a nice day. Goodbye!", "祝您愉快。再见！"),
    ("Thank you for using our service. Bye!", "感谢您使用我们的服务。再见！"),
    ("You're welcome, enjoy your visit!", "不客气，祝您玩得开心！"),
    ("Enjoy your time in Brindlewick!", "祝您在布林德威克过得愉快！"),
    ("Glad I could help. Take care!", "很高兴能帮到您。保重！"),
]
HEADS = {
    "restaurant": (("restaurant", "餐厅"), ("restaurants", "餐厅")),
    "hotel": (("place to stay", "住处"), ("places to stay", "住处")),
    "attraction": (("attraction", "景点"), ("attractions", "景点")),
}
#: Filler that a talkative system adds.
CHATTER = [
    "i hope that this information is helpful to you and your party .",
    "please let me know if there is anything else that i can do for you today .",
    "i would be more than happy to assist you with any other questions .",
    "thank you for contacting the brindlewick information centre .",
    "it is a lovely time of the year to visit our town .",
    "many of our visitors tell us that they enjoy it very much .",
]
