"""Texts of our own in many languages, with the code pages that people save them in."""

TEXTS = {
    "French": (
        ("cp1252", "iso8859-15", "mac_roman"),
        "Le café est situé près de la mairie, coûte 2 € et ferme à l'été.\n"
        "L'œuvre du maître a été achevée en décembre, après sept années de travail.\n"
        "Les élèves naïfs ont reçu leurs leçons de français à l'école « Molière ».\n"
        "Où sont passées les clés du château ? Personne ne l'a encore trouvé.\n"
        "La forêt s'étend jusqu'à la frontière ; on y mange des pâtes et du pâté.\n",
    ),
    "Spanish": (
        ("cp1252", "iso8859-15"),
        "El Señor Núñez vive en la esquina de la calle Peñón desde el año pasado.\n"
        "¿Cuándo llegará el camión de la construcción? Según él, mañana por la mañana.\n"
        "La niña comió piñones y un plátano en el jardín botánico de Málaga.\n"
        "El médico recomendó más reposo; también pidió análisis de sangre.\n"
        "¡Qué corazón tan grande tiene aquel niño pequeño de Logroño!\n",
    ),
    "German": (
        ("cp1252", "iso8859-15"),
        "Der Käse reift in kühlen Höhlen, die Straße führt über den Fluß.\n"
        "Die Bäuerin prüft täglich die Türen und öffnet später das große Tor.\n"
        "Für fünf Gäste kostet das Frühstück im Hotel „Zur Mühle“ 80 €.\n"
        "Während der Übung müssen alle Schüler ihre Hefte schließen.\n"
        "Äpfel, Öle und Gemüse gehören nicht in den Müll.\n",
    ),
    "Portuguese": (
        ("cp1252",),
        "A estação fica próxima do coração da cidade e não abre aos domingos.\n"
        "As crianças comeram pão com maçã e três avós contaram histórias.\n"
        "O preço da refeição é de vinte euros; a opção mais econômica já acabou.\n"
        "Você também poderá visitar o museu da ciência à tarde.\n"
        "Amanhã haverá uma reunião sobre a educação dos irmãos.\n",
    ),
    "Italian": (
        ("cp1252",),
        "La città è più bella quando c'è il sole, però fa già caldo.\n"
        "Perché la qualità del caffè è così alta? Nessuno lo sa.\n"
        "Lunedì e venerdì l'università resta chiusa per le festività.\n"
        "Metà del paese può votare, e sarà una novità.\n"
        "Il papà andò giù al lago e lì trovò la verità.\n",
    ),
    "Swedish": (
        ("cp1252",),
        "Båten går över sjön två gånger om dagen när isen är borta.\n"
        "Kaféet på ön säljer smörgåsar, kött och färska jordgubbar.\n"
        "Han hör åskan på långt håll och stänger dörren efter sig.\n"
        "Vägen är smal, så kör försiktigt på kvällen.\n"
        "Åtta små älgar stod på ängen bakom gården.\n",
    ),
    "Danish": (
        ("cp1252",),
        "Færgen sejler fra København til øen hver søndag året rundt.\n"
        "Børnene spiste rødgrød med fløde på den grønne ø.\n"
        "Hvorfor kører båden så hurtigt? Føreren ved det ikke.\n"
        "På ældre gårde står der ofte æbletræer og bærbuske.\n"
        "Året efter blev broen åbnet for både tog og køretøjer.\n",
    ),
    "Icelandic": (
        ("cp1252",),
        "Það er gott veður í dag og þess vegna förum við á fjallið.\n"
        "Þjóðin býr á eyju þar sem eldfjöll gjósa öðru hverju.\n"
        "Börnin léku sér við ána og síðan fóru þau heim að borða.\n"
        "Hann á hús í Reykjavík og sumarbústað á Þingvöllum.\n"
        "Hvað heitir þú? Ég heiti Sæunn og er frá Ísafirði.\n",
    ),
    "English with signs": (
        ("cp1252", "latin-1"),
        "The sample was kept at 20 °C ± 2 °C in ½ litre of water.\n"
        "The plate has an area of 12 m² and a volume of 3 m³, or 7 µl per cell.\n"
        "Copyright © 2019 by the authors; all names are marks® of their owners.\n"
        "See § 4 and ¶ 2: a fee of £30 is due, and ¼ of it goes to the state.\n"
        "Temperatures of 5 × 10 °C were measured at an angle of 45°.\n",
    ),
    "English with quotes": (
        ("cp1252",),
        "The “old” bridge – it’s made of stone – was closed in 1998.\n"
        "It cost €40 million… and the mayor’s office paid for half of it.\n"
        "“Nobody asked us,” said the owner of the café next to it.\n"
        "The trademark™ belongs to the firm’s founder—not to the town.\n"
        "Visitors’ tickets cost £5; children’s tickets are free.\n",
    ),
    "Polish": (
        ("cp1250", "iso8859-2"),
        "Dziecko działa przez czerwoną rączkę i łapie piłkę na łące.\n"
        "W środę wieczorem pójdziemy do kościoła świętego Łukasza w Łodzi.\n"
        "Proszę zamknąć drzwi, bo wieje zimny wiatr i leży śnieg.\n"
        "Książka leży na półce obok żółtej lampy mojej siostry.\n"
        "Źle się czuję, więc zostanę dziś w domu i będę spał.\n",
    ),
    "Czech": (
        ("cp1250", "iso8859-2"),
        "Žluťoučký kůň běžel přes louku a řeka tekla pomalu k městu.\n"
        "Dnes večer půjdeme do divadla, protože hrají novou českou hru.\n"
        "Děti si hrály na dvoře, zatímco maminka vařila oběd.\n"
        "Kdy přijede vlak z Brna? Říkali, že až v šest hodin.\n"
        "Nejvyšší hora země je Sněžka, která leží v Krkonoších.\n",
    ),
    "Hungarian": (
        ("cp1250", "iso8859-2"),
        "Az őszi erdő gyönyörű, de a hűvös szél miatt kevesen sétálnak.\n"
        "A gyerekek fürödtek a tóban, és később fagylaltot ettek.\n"
        "Miért késik a vonat? Azt mondták, hogy hó esett a hegyekben.\n"
        "Az új könyvtárat tizenöt évvel ezelőtt építették a főtéren.\n"
        "A nővérem orvos lett, az öcsém pedig tűzoltó Győrben.\n",
    ),
    "Russian": (
        ("cp1251", "koi8-r", "cp866", "iso8859-5"),
        "Мост через реку открыли осенью, и теперь до города можно доехать быстрее.\n"
        "Дети играли во дворе, пока бабушка готовила обед на кухне.\n"
        "Почему опаздывает поезд? Говорят, что в горах выпал снег.\n"
        "Новая библиотека находится на главной площади рядом с театром.\n"
        "Мой брат работает врачом, а сестра учится в университете.\n",
    ),
    "Ukrainian": (
        ("cp1251", "koi8-u"),
        "Міст через річку відкрили восени, і тепер до міста їхати швидше.\n"
        "Діти гралися у дворі, поки бабуся готувала обід на кухні.\n"
        "Чому запізнюється потяг? Кажуть, що в горах випав сніг.\n"
        "Нова бібліотека розташована на головній площі біля театру.\n"
        "Мій брат працює лікарем, а сестра навчається в університеті.\n",
    ),
    "Bulgarian": (
        ("cp1251",),
        "Мостът над реката беше открит през есента и вече се пътува по-бързо.\n"
        "Децата играеха на двора, докато баба им приготвяше обяда.\n"
        "Защо закъснява влакът? Казват, че в планината е паднал сняг.\n"
        "Новата библиотека се намира на главния площад до театъра.\n"
        "Брат ми работи като лекар, а сестра ми учи в университета.\n",
    ),
    "Greek": (
        ("cp1253", "iso8859-7"),
        "Η γέφυρα πάνω από το ποτάμι άνοιξε το φθινόπωρο και ο δρόμος είναι πιο γρήγορος.\n"
        "Τα παιδιά έπαιζαν στην αυλή, ενώ η γιαγιά μαγείρευε.\n"
        "Γιατί αργεί το τρένο; Λένε ότι χιόνισε στα βουνά.\n"
        "Η νέα βιβλιοθήκη βρίσκεται στην κεντρική πλατεία δίπλα στο θέατρο.\n"
        "Ο αδελφός μου είναι γιατρός και η αδελφή μου σπουδάζει στην Αθήνα.\n",
    ),
    "Turkish": (
        ("cp1254",),
        "Nehrin üzerindeki köprü sonbaharda açıldı ve şimdi şehre ulaşmak daha kolay.\n"
        "Çocuklar bahçede oynarken büyükanneleri öğle yemeği pişirdi.\n"
        "Tren neden gecikiyor? Dağlara kar yağdığını söylüyorlar.\n"
        "Yeni kütüphane, tiyatronun yanındaki meydanda bulunuyor.\n"
        "Ağabeyim doktor olarak çalışıyor, kız kardeşim ise İstanbul'da okuyor.\n",
    ),
    "Hebrew": (
        ("cp1255",),
        "הגשר מעל הנהר נפתח בסתיו ועכשיו אפשר להגיע לעיר מהר יותר.\n"
        "הילדים שיחקו בחצר בזמן שסבתא בישלה ארוחת צהריים.\n"
        "למה הרכבת מאחרת? אומרים שירד שלג בהרים.\n"
        "הספרייה החדשה נמצאת בכיכר המרכזית ליד התיאטרון.\n"
        "אחי עובד כרופא ואחותי לומדת באוניברסיטה.\n",
    ),
    "Arabic": (
        ("cp1256",),
        "افتتح الجسر فوق النهر في الخريف وأصبح الوصول إلى المدينة أسرع.\n"
        "لعب الأطفال في الحديقة بينما كانت الجدة تطبخ الغداء.\n"
        "لماذا تأخر القطار؟ يقولون إن الثلج سقط على الجبال.\n"
        "تقع المكتبة الجديدة في الساحة الرئيسية بجانب المسرح.\n"
        "يعمل أخي طبيبا وتدرس أختي في الجامعة.\n",
    ),
    "Lithuanian": (
        ("cp1257",),
        "Tiltas per upę buvo atidarytas rudenį, todėl į miestą važiuojama greičiau.\n"
        "Vaikai žaidė kieme, o močiutė virė pietus virtuvėje.\n"
        "Kodėl vėluoja traukinys? Sako, kad kalnuose iškrito sniego.\n"
        "Nauja biblioteka yra pagrindinėje aikštėje šalia teatro.\n"
        "Mano brolis dirba gydytoju, o sesuo mokosi Vilniuje.\n",
    ),
    "Chinese": (
        ("gbk", "gb18030"),
        "河上的新桥在秋天开通，现在去城里更快了。\n"
        "孩子们在院子里玩耍，奶奶在厨房准备午饭。\n"
        "火车为什么晚点？听说山里下了大雪。\n"
        "新图书馆位于剧院旁边的中心广场。\n"
        "我的哥哥是医生，妹妹在北京上大学。\n",
    ),
    "Chinese, traditional": (
        ("big5",),
        "河上的新橋在秋天開通，現在去城裡更快了。\n"
        "孩子們在院子裡玩耍，奶奶在廚房準備午飯。\n"
        "火車為什麼誤點？聽說山裡下了大雪。\n"
        "新圖書館位於劇院旁邊的中心廣場。\n"
        "我的哥哥是醫生，妹妹在臺北上大學。\n",
    ),
    "Japanese": (
        ("shift_jis", "euc_jp", "iso2022_jp"),
        "川にかかる新しい橋が秋に開通し、町まで早く行けるようになりました。\n"
        "子どもたちは庭で遊び、おばあさんは台所で昼ご飯を作っていた。\n"
        "電車はなぜ遅れているのですか。山で雪が降ったそうです。\n"
        "新しい図書館は劇場の隣の広場にあります。\n"
        "兄は医者で、妹は東京の大学で勉強しています。\n",
    ),
    "Korean": (
        ("euc_kr", "cp949"),
        "강 위의 새 다리가 가을에 개통되어 이제 도시까지 더 빨리 갈 수 있다.\n"
        "아이들은 마당에서 놀고 할머니는 부엌에서 점심을 준비했다.\n"
        "기차가 왜 늦습니까? 산에 눈이 내렸다고 합니다.\n"
        "새 도서관은 극장 옆 중앙 광장에 있습니다.\n"
        "형은 의사이고 여동생은 서울에서 대학교에 다닙니다.\n",
    ),
}
"""Language to the code pages, and a text of five lines."""


def samples() -> list[tuple[str, str, str, str]]:
    """List (language, code page, length, text) for short and long texts.

    The first two lines are taken alone, and all five together. A text of French quotes a price in
    euros, which the older pages do not have: what a page cannot encode is left out of its text.
    """
    rows = []
    for language, (pages, whole) in TEXTS.items():
        lines = whole.splitlines(keepends=True)
        for page in pages:
            for length, parts in (
                ("short", lines[:1]), ("short 2", lines[1:2]), ("long", lines),
            ):  # fmt: skip
                text = "".join(parts).encode(page, "ignore").decode(page)
                rows.append((language, page, length, text))
    return rows
