"""Refusals in Italian, Dutch, Portuguese and Chinese. What blocks are for is said in english.py."""

from citeforge.schemas.refusal_rules.rules import make

ITALIAN = make(
    {
        "GAP": r"[^.!?\n]{0,70}",
        "NOUN": r"passaggi|passaggio|brani|brano|document[io]|font[ei]|contest[io]|test[io]|"
        r"risultati|"
        r"articol[io]|estratt[io]|paragraf[io]",
        "SHOWN": r"NOUN\b(?! (?:di|del|della|dei|delle) )",
    },
    strong=(
        r"\bnon (?:posso|possiamo|sono in grado di|riesco a|è possibile|si può|"
        r"ho potuto) (?:\w+ )?"
        r"(?:rispondere|trovare|determinare|dire|stabilire|fornire|confermare|sapere)",
        r"\bnon (?:ho|dispongo di|ci sono|c['’]è|esistono|ho trovato|trovo) (?:\w+ ){0,2}"
        r"(?:informazion[ei]|dati|risposta|menzione|riferimenti)",
        r"\bSHOWN\bGAP\bnon (?:\w+ )?(?:contengono|contiene|forniscono|fornisce|menzionano|"
        r"menziona|"
        r"indicano|indica|dicono|dice|specificano|specifica|rispondono|risponde|riportano|"
        r"riporta)\b",
        r"\bnessun[oa]? (?:dei |delle )?(?:\w+ )?SHOWN\bGAP\b(?:menziona|contiene|indica|dice|"
        r"risponde|riporta|specifica)",
        r"\bnon (?:è|sono|viene|vengono) (?:\w+ )?(?:menzionat[oaie]|indicat[oaie]|"
        r"specificat[oaie]|"
        r"riportat[oaie]|fornit[oaie])\bGAP\bSHOWN",
        r"\bnon (?:lo )?so\b(?!GAP\bma\b)|\bnon conosco la risposta",
        r"\b(?:domanda|questo) non (?:può|ha)\bGAP\b(?:risposta|risolta)",
    ),
    weak=(
        r"\b(?:informazioni|contesto|dati) insufficient[ei]\b|\b(?:informazioni|dati) sufficienti "
        r"per rispondere|\bnessuna (?:informazione|risposta)\bGAP(?:SHOWN|domanda)",
    ),
)
DUTCH = make(
    {
        "GAP": r"[^.!?\n]{0,70}",
        "NOUN": r"passages?|fragmenten|documenten|document|bronnen|bron|context|teksten|tekst|"
        r"zoekresultaten|artikelen|alinea's",
        "SHOWN": r"NOUN\b(?! (?:van) )",
    },
    strong=(
        r"\b(?:ik|we|wij) (?:kan|kunnen|kon|konden)\bGAP\bniet (?:\w+ )?(?:beantwoorden|vinden|"
        r"zeggen|bepalen|vaststellen|geven)",
        r"\b(?:kan|kunnen|kon) (?:ik|we|wij|men)\bGAP\bniet (?:\w+ )?(?:beantwoorden|vinden|"
        r"zeggen|"
        r"bepalen|vaststellen|opmaken)",
        r"\b(?:vraag|dit) (?:kan|is)\bGAP\bniet (?:\w+ )?(?:beantwoord|te beantwoorden|worden "
        r"beantwoord|beantwoord worden)",
        r"\bSHOWN\bGAP\b(?:bevatten|bevat|geven|geeft|noemen|noemt|vermelden|vermeldt|zeggen|zegt|"
        r"bieden|biedt|staat|staan)\bGAP\b(?:niet|niets|geen)\b",
        r"\bSHOWN\bGAP\b(?:wordt|worden|is|zijn|staat)\bGAP\bniet (?:\w+ )?(?:vermeld|genoemd|"
        r"gegeven|beschreven)",
        r"\b(?:geven|geeft|bevatten|bevat|vermelden|noemen|zeggen) (?:de|het|"
        r"deze) (?:\w+ )?SHOWN\b"
        r"GAP\b(?:niet|niets|geen)\b",
        r"\bgeen (?:van de )?(?:\w+ )?SHOWN\bGAP\b(?:bevat|geeft|noemt|vermeldt|zegt)",
        r"\bik weet (?:\w+ ){0,2}niet\b|\bweet ik (?:\w+ )?niet\b",
        r"\b(?:wordt|worden|is|zijn|staat)\bGAP\bniet (?:\w+ )?(?:vermeld|genoemd|gegeven|"
        r"beschreven)\bGAP\bSHOWN|\b(?:wordt|worden|is|zijn|"
        r"staat)\bGAP\bSHOWN\bGAP\bniet (?:\w+ )?"
        r"(?:vermeld|genoemd|gegeven|beschreven)",
        r"\b(?:is|blijkt)\bGAP\bniet (?:\w+ )?(?:uit|op te maken uit)\bGAP\bSHOWN|"
        r"\bniet (?:mogelijk|"
        r"te zeggen|te bepalen)\bGAP\b(?:SHOWN|vraag)",
    ),
    weak=(
        r"\b(?:er is|er zijn|ik heb|ik vind|heb ik|vind ik|is er|zijn er)\bGAP\bgeen (?:\w+ )?"
        r"(?:informatie|antwoord|gegevens|vermelding)\b",
        r"\bgeen (?:\w+ )?(?:informatie|antwoord|gegevens)\bGAP(?:SHOWN|vraag|beschikbaar|"
        r"gevonden)",
        r"\b(?:onvoldoende|niet genoeg|te weinig) (?:informatie|gegevens|context)",
    ),
)
PORTUGUESE = make(
    {
        "GAP": r"[^.!?\n]{0,70}",
        "NOUN": r"passagens|passagem|trechos?|documentos?|fontes?|contextos?|textos?|resultados|"
        r"artigos?|parágrafos?",
        "SHOWN": r"NOUN\b(?! (?:de|do|da|dos|das) )",
    },
    strong=(
        r"\bnão (?:posso|podemos|consigo|foi possível|é possível|se pode|"
        r"pude) (?:\w+ )?(?:responder|"
        r"encontrar|determinar|dizer|saber|fornecer|confirmar|afirmar)",
        r"\bnão (?:tenho|disponho de|há|existe|existem|encontrei|encontro) (?:\w+ ){0,2}"
        r"(?:informaç(?:ão|ões)|dados|menção|resposta)",
        r"\bSHOWN\bGAP\bnão (?:\w+ )?(?:contêm|contém|fornecem?|mencionam?|indicam?|dizem|diz|"
        r"especificam?|respondem?|oferecem?|incluem|inclui|trazem|traz|informam?)\b",
        r"\b(?:nenhum|nenhuma) (?:dos |das )?(?:\w+ )?SHOWN\bGAP\b(?:menciona|contém|indica|diz|"
        r"responde|informa|especifica)",
        r"\bnão (?:é|são|foi|está|estão) (?:\w+ )?(?:mencionad[oa]s?|indicad[oa]s?|"
        r"especificad[oa]s?|informad[oa]s?|fornecid[oa]s?)\bGAP\bSHOWN",
        r"\b(?:eu )?não sei\b(?!GAP\bmas\b)|\bdesconheço a resposta",
        r"\b(?:pergunta|isso) não pode ser (?:respondid[oa]|determinad[oa])",
    ),
    weak=(
        r"\b(?:informações|dados|contexto) insuficientes?\b|\b(?:informações|dados) suficientes "
        r"para responder|\bnenhuma (?:informação|resposta)\bGAP(?:SHOWN|pergunta)",
    ),
)
CHINESE = make(
    {
        "GAP": r"[^。！？!?\n]{0,25}",
        # "The file" may be one of the world; that the answer was given it must be said.
        "QUAL": r"(?:所|已|被)?(?:提供|给出|给定|给|給定|給出|給|上述|以上|这些|這些|该|該|检索|"
        r"檢索|搜索|搜尋|现有|現有)"
        r"(?:到)?的?",
        "NOUN": r"文中|原文|段落|上下文|(?:搜索|检索|搜尋|檢索)(?:结果|結果)|参考资料|參考資料|"
        r"资料中|資料中|文档|文檔|"
        r"(?:QUAL)(?:文档|文檔|文件|文献|文章|文本|资料|資料|材料|来源|來源|内容|內容|信息|資訊|"
        r"片段|文字)",
        "NO": r"没有|沒有|未能|未|并未|並未|均未|都未|不|无|無",
        "SAY": r"提到|提及|说明|說明|提供|包含|涉及|回答|给出|給出|指出|明确|明確|指明|记载|記載|"
        r"显示|顯示|描述|解释|解釋",
        "CANNOT": r"无法|無法|不能|难以|難以|没办法|沒辦法",
        "LEARN": r"回答|作答|解答|确定|確定|得知|判断|判斷|找到|提供|确认|確認|得出|得到|推断|"
        r"推斷|知道|告诉|告訴",
        "INFO": r"信息|資訊|答案|资料|資料|内容|內容|线索",
        "SORRY": r"抱歉|对不起|對不起|很遗憾|很遺憾|遗憾的是",
        "SHOWN": r"NOUN",
    },
    strong=(
        r"(?:^|[，,；;]|我们?|我們|因此|所以)(?:我|也|都|仍|还|還|暂时|目前)?CANNOTGAPLEARN"
        r"(?=GAP(?:问题|問題|答案|SHOWN)|\W*$)",
        r"(?:问题|問題|SHOWN)GAPCANNOTGAPLEARN|CANNOT(?:从|根据|從|根據)GAPLEARN",
        r"SORRYGAP(?:CANNOT|不知道|不清楚|没有|沒有|未)",
        r"SHOWNGAPNO(?:直接|明确|具体|有|足够|任何)?地?SAY",
        r"(?:^|我|我也|我并)(?:不知道|不清楚|不了解)(?:答案|\W*$|这|該|该)",
        r"我(?:没有|沒有|未)能?(?:找到|发现|發現)|找不到GAPINFO",
        r"SHOWNGAP(?:不足以|不足|不够|不夠)|不足以LEARNGAP(?:问题|問題)",
        r"(?:根据|基于|根據|基於|从|從)SHOWNGAP(?:CANNOT|NO)GAP(?:LEARN|SAY)",
    ),
    weak=(
        r"(?:没有|沒有|缺乏|无|無)(?:找到|任何)?(?:足够|足夠|相关|相關|有关|有關)的?INFO",
        r"(?:信息|資訊|资料|資料)(?:不足|不够|不夠|有限)",
        r"^\W*(?:未知|不详|不詳|无法回答|無法回答|未提及|没有答案|沒有答案|无答案|不知道|"
        r"不清楚)\W*$",
    ),
)
