"""Refusals in German, Spanish and French. What blocks are for is said in english.py."""

from citeforge.schemas.refusal_rules.rules import make

GERMAN = make(
    {
        "GAP": r"[^.!?\n]{0,70}",
        "NEAR": r"(?:(?!\b(?:dass|weil|da|wenn|als|wo|wer|deren|dessen)\b)[^.!?\n]){0,60}",
        "QUAL": r"(?:(?:vorliegend|gegeben|bereitgestellt|angegeben|genannt|gezeigt|verfügbar|"
        r"vorhanden|obig|zitiert|gefunden|mitgeliefert)(?:e[nmrs]?))",
        "NOUN": r"textstellen?|passagen?|abschnitte?n?|dokumente?n?|quellen?|kontext|texte?n?|"
        r"suchergebnisse?n?|auszüge?n?|unterlagen|materialien|QUAL (?:artikeln?|ergebnisse?n?|"
        r"informationen)",
        "SHOWN": r"NOUN\b(?! (?:des|der|von|vom|über) (?!fragestell))",
        "ANY": r"(?:de[nmrs]|die|das|diese[nmrs]?|keine[nmrs]?|ihren?|meinen?|obigen|"
        r"zur verfügung "
        r"stehenden) (?:QUAL )?(?:\w+ )?SHOWN",
        "SAY": r"enthalten|enthält|nennen|nennt|erwähnen|erwähnt|liefern|liefert|geben|gibt|sagen|"
        r"sagt|machen|macht|steht|stehen|findet sich|finden sich|behandeln|behandelt|beantworten|"
        r"beantwortet|beschreiben|beschreibt|bieten|bietet|erklären|erklärt|gehen|geht|erlauben|"
        r"erlaubt|lassen|lässt",
        "NO": r"nicht|nichts|keine?[nrs]?|keinerlei|weder",
        "INFO": r"informationen?|angaben?|antwort|hinweise?|auskunft|details|aufschluss|belege?",
        "LEARN": r"beantworten|finden|sagen|feststellen|bestimmen|beurteilen|entnehmen|ermitteln|"
        r"ableiten|angeben|erkennen|klären",
        "LEARNT": r"erwähnt|genannt|angegeben|beschrieben|enthalten|behandelt|aufgeführt|"
        r"ersichtlich|beantwortet|zu entnehmen|zu finden|belegt|erläutert",
    },
    strong=(
        r"\b(?:kann|können|konnte|konnten) (?:ich|wir)\bGAP\b(?:nicht|nichts|keine?n?)\b"
        r"(?:GAP\b)?(?:LEARN|antworten|geben|machen)\b",
        r"\b(?:ich|wir) (?:kann|können|konnte|konnten)\bGAP\b(?:nicht|nichts|keine?n?)\b(?:GAP\b)?"
        r"(?:(?:LEARN)\b|antwort\w* geben)",
        r"\bich\bGAP\bnicht (?:in der lage|imstande|dazu)\b|\bbin ich nicht in der lage\b",
        r"\bich weiß (?:\w+ ){0,3}nicht\b(?!, was soll)|\bweiß ich (?:\w+ )?nicht\b|"
        r"\bmir\b(?: \w+){0,3} nicht bekannt\b",
        r"\b(?:habe ich|ich habe|finde ich|ich finde|liegen mir|mir liegen|ich kenne)\bGAP"
        r"\b(?:keine?n?|nichts)\b(?: \w+)? ?(?:INFO)?\b(?:\W*$|GAP\b(?:gefunden|vor|finden|dazu|"
        r"SHOWN|INFO))",
        r"\b(?:tut mir leid|leider|entschuldigung|bedaure)\bGAP\b(?:NO)\b GAP\b(?:LEARN|LEARNT|"
        r"beantwortet|INFO|SHOWN)\b",
        # Of what was shown.
        r"\bSHOWN NEAR\b(?:SAY)\b NEAR\b(?:NO)\b",
        r"\b(?:SAY) (?:die|der|das|diese|dieser) (?:\w+ )?SHOWN\bGAP\b(?:NO)\b",
        r"\b(?:keine[srn]?|weder|nichts)\b(?: \w+){0,6} SHOWNGAP\b(?:SAY)\b",
        r"\b(?:wird|werden|ist|sind|geht|gehen|steht|stehen|findet sich|finden sich|fehlt|fehlen)"
        r"\bGAP\b(?:in|aus|von|durch) ANYGAP\b(?:NO) ?(?:LEARNT|hervor)?",
        r"\b(?:in|aus|mit|anhand|nach|laut|auf (?:grundlage|basis)) (?:von )?ANYGAP\b(?:NO)\b"
        r"(?:GAP\b)?(?:LEARNT|LEARN|hervor|möglich|INFO|geklärt)\b",
        r"\b(?:in|aus|mit|anhand) ANY (?:findet|finden|steht|stehen|gibt es|ist|wird)\b(?: \w+)"
        r"{0,3} (?:nichts|keine?n? (?:\w+ )?(?:INFO))\b",
        r"\b(?:fehlt|fehlen)\bGAP\bin ANY|\bnicht in ANY|\bbleibt\bGAP\bANYGAP\boffen\b",
        r"\bSHOWN (?:SAY) (?:nur|lediglich|allein)\b",
        r"\b(?:ist|sind) ANY\b(?: \w+)? nicht (?:zu entnehmen|LEARNT)|"
        r"\bANY (?:ist|sind|wird|werden)\bGAP\bnicht (?:LEARNT|beantwortbar)",
        r"\b(?:informationen|angaben|SHOWN) reichen\bGAP\bnicht aus",
        r"\bfrage\bGAP\bnicht (?:\w+ ){0,2}(?:beantwortet|beantwortbar|zu beantworten|geklärt)\b"
        r"(?! allein)|\bfrage (?:kann|können)\bGAP\bnicht (?:\w+ ){0,2}beantworten|"
        r"\bfrage\bGAP\b(?:lässt|lassen) sich\bGAP\bnicht\b",
        r"\bantwort\bGAP\b(?:nicht möglich|unmöglich)\b",
        r"\b(?:lässt|lassen) sich\bGAP\b(?:ANY|frage)GAP\b(?:NO)\b|\bANYGAP\b(?:lässt|lassen) sich"
        r"\bGAP\b(?:NO)\b",
    ),
    weak=(
        r"\b(?:gibt es|es gibt|liegen|finden sich|"
        r"wurden?)\bGAP\bkeine?n? (?:\w+ )?(?:informationen?|"
        r"angaben?|antwort)\b",
        r"\bkeine?n? (?:\w+ )?(?:informationen?|angaben?|antwort)\bGAP(?:SHOWN|frage|verfügbar|"
        r"vorhanden|gefunden|möglich)",
        r"\b(?:nicht genug|nicht genügend|nicht ausreichend|unzureichende|zu wenig) "
        r"(?:informationen|angaben|kontext)",
        r"^\W*(?:unbekannt|keine (?:angaben?|antwort|informationen?)|nicht (?:bekannt|angegeben|"
        r"beantwortbar)|k\. ?a\.?)\W*$",
    ),
)
SPANISH = make(
    {
        "GAP": r"[^.!?\n]{0,70}",
        "NEAR": r"(?:(?!\b(?:que|porque|cuando|donde|si)\b)[^.!?\n]){0,50}",
        "QUAL": r"proporcionad[oa]s?|dad[oa]s?|facilitad[oa]s?|disponibles?|anterior(?:es)?|"
        r"mostrad[oa]s?|citad[oa]s?|recuperad[oa]s?|suministrad[oa]s?|present(?:e|ada)s?",
        "NOUN": r"pasajes?|documentos?|fuentes|contexto|textos?|resultados de (?:la )?búsqueda|"
        r"fragmentos?|párrafos|(?:resultados|artículos?|fuente|información)(?= QUAL)|artículos",
        "SHOWN": r"NOUN(?: (?:QUAL))*\b(?! (?:de(?:l)?|sobre) )",
        "ANY": r"(?:el|la|los|las|este|esta|estos|estas|ningún|ninguno de los|ninguna de las|"
        r"dichos|mis|l[oa]s? QUAL) (?:QUAL )?SHOWN",
        "SAY": r"contienen?|proporcionan?|mencionan?|indican?|dicen?|especifican?|responden?|"
        r"ofrecen?|incluyen?|dan|aclaran?|abordan?|permiten?|hablan?|tratan?|explican?|"
        r"describen?|precisan?|aportan?|hacen? (?:referencia|mención)|da(?! ningún poder)",
        "INFO": r"información|datos|mención|respuesta|detalles",
        "LEARN": r"responder|contestar|encontrar|determinar|saber(?:lo)?|confirmar|precisar|"
        r"responderla|contestarla|establecer|decirlo|conocer",
        "SAID": r"menciona[n]?|indica[n]?|especifica[n]?|dice[n]?|aparecen?|figuran?|"
        r"encuentra[n]?|"
        r"mencionad[oa]s?|indicad[oa]s?|especificad[oa]s?|incluid[oa]s?|disponibles?|describe[n]?",
    },
    strong=(
        r"\bno (?:me es posible|puedo|podemos|he podido|pude|logro|soy capaz de|poder|puede)"
        r" (?:\w+ )?(?:LEARN)\b",
        r"\bno (?:puedo|podemos) (?:dar|proporcionar|ofrecer)\w* (?:una |la )?(?:INFO)\b",
        r"\b(?:imposible|no es posible|no se puede) (?:LEARN)\b(?:\W*$|(?=GAP\b(?:ANY|SHOWN|"
        r"pregunta))"
        r"| (?:el|la|los|las) \w+ con\b)",
        r"\bno (?:tengo|dispongo de|cuento con|encuentro|encontré|he encontrado|hallo)\b"
        r"(?: \w+){0,3} (?:INFO)\b",
        r"\b(?:SHOWN) NEAR\bno (?:\w+ )?(?:SAY)\b",
        r"\b(?:SHOWN) GAP\b(?:pero|aunque) no (?:\w+ )?(?:SAY)\b",
        r"\b(?:SHOWN) (?:es|son|resulta|resultan) insuficientes?\b",
        r"\b(?:ning[uú]n|ninguno de los|ninguna de las) SHOWNGAP\b(?:SAY)\b(?! anterior)",
        r"\bnada (?:en|de) ANY|\bno (?:está|están|queda) (?:clar[oa] )?(?:en|por|a partir de|"
        r"según) ANY",
        r"\bSHOWN s[oó]lo (?:SAY)\b|^\W*no (?:\w+ )?(?:SAID)\bGAP\bANY",
        r"\bno (?:se |est[áa]n? |lo |la )?(?:\w+ )?(?:SAID)\bGAP\b(?:en|por) ANY",
        r"\b(?:en|según|con) ANYGAP\bno (?:se |est[áa]n? |hay |es posible |puede )?(?:\w+ )?"
        r"(?:SAID|INFO|SAY|LEARN|determinarse|saberse)",
        r"(?:^|[.,;] )no (?:lo )?sé\b(?:\W*$| (?:la respuesta|cuál|quién|cuándo|dónde|si))|"
        r"\bdesconozco (?:la respuesta|ese dato)\b",
        r"\b(?:pregunta|esto) no (?:se puede|puede) (?:ser )?(?:responder|respondid[oa]|contestar|"
        r"contestad[oa])",
    ),
    weak=(
        r"\b(?:información|datos|contexto) insuficientes?\b|\b(?:no hay|sin) suficientes? "
        r"(?:información|datos|contexto)|\b(?:información|datos) suficientes? para (?:LEARN)",
        r"\bfaltan? (?:información|datos|contexto)\b",
        r"\bno (?:hay|existe|se encuentra) (?:\w+ ){0,2}(?:información|respuesta)\b",
        r"\bno es posible (?:LEARN)\b",
        r"^\W*(?:desconocid[oa]|sin (?:información|respuesta|datos)|no (?:se sabe|consta|"
        r"disponible|especificad[oa]|lo sé)|se desconoce)\W*$",
    ),
)
FRENCH = make(
    {
        "GAP": r"[^.!?\n]{0,70}",
        "NEAR": r"(?:(?!\b(?:que|qui|parce|car|quand|où|si)\b)[^.!?\n]){0,50}",
        "QUAL": r"fournie?s?|donnée?s?|disponibles?|présentée?s?|ci-dessus|proposée?s?|citée?s?|"
        r"transmise?s?|retrouvée?s?",
        "NOUN": r"passages?|documents?|sources|contexte|textes?|résultats de (?:la )?recherche|"
        r"extraits?|paragraphes|articles|(?:résultats|article|source|informations?)(?= QUAL)",
        "SHOWN": r"NOUN(?: (?:QUAL|à disposition))*\b(?! (?:de|du|des) )",
        "ANY": r"(?:le|la|les|ce|cet|ces|cette|aucun|aucun des|aucune des|vos|mes)"
        r" SHOWN",
        "NE": r"(?:ne|n')",
        "PAS": r"pas|aucune?|rien|ni",
        "SAY": r"contien(?:t|nent)|mentionne(?:nt)?|fourni(?:t|ssent)|permet(?:tent)?|"
        r"précise(?:nt)?|indique(?:nt)?|di(?:t|sent)|donne(?:nt)?|répond(?:ent)?|aborde(?:nt)?|"
        r"parle(?:nt)?|traite(?:nt)?|évoque(?:nt)?|offre(?:nt)?|explique(?:nt)?|décri(?:t|vent)|"
        r"suffi(?:t|sent)|comporte(?:nt)?|apporte(?:nt)?|éclaire(?:nt)?",
        "INFO": r"informations?|réponse|mention|indication|éléments?|détails?|données",
        "LEARN": r"répondre|trouver|déterminer|dire(?! que)|confirmer|savoir|identifier|conclure|"
        r"préciser|établir|connaître|aider",
        "SAID": r"mentionnée?s?|précisée?s?|indiquée?s?|fournie?s?|donnée?s?|abordée?s?|"
        r"disponibles?|présente?s?|incluse?s?|décrite?s?|évoquée?s?|clair|possible",
    },
    strong=(
        r"\b(?:je|nous) NE ?(?:(?:peux|pouvons|parviens|suis|sommes|saurais|"
        r"puis) (?:malheureusement )?"
        r"(?:pas )?)(?:en mesure |à même |capable )?(?:de |d'|à )?(?:vous |y |le )?(?:LEARN)\b",
        r"\b(?:je|nous) NE ?(?:peux|pouvons) pas (?:fournir|donner) (?:de |une |la )?(?:INFO)\b",
        r"\bon NE ?peut pas (?:le |y )?(?:LEARN)\b(?=GAP\b(?:ANY|d'après|à partir|avec))",
        r"\bje NE ?sais pas(?:\W*$|[.,;] | (?:qui|quand|où|comment|si|quelle?s?|répondre)\b)|"
        r"\bje (?:l')?ignore\b",
        r"\bje NE ?(?:ai|trouve|dispose|vois|possède)\b(?: pas)?(?: \w+){0,2} (?:aucune?|pas|"
        r"assez|de|"
        r"d') ?(?:\w+ )?(?:d')?(?:INFO|cette)\b|\bje n'ai (?:trouvé )?aucune?\b|"
        r"\bje n'ai pas (?:assez|trouvé|suffisamment)\b|\bje NE ?dispose pas\b",
        r"\bil m'est impossible\b",
        r"\bSHOWN NEAR\bNE ?(?:\w+ )?(?:SAY) (?:PAS)\b",
        r"\bSHOWN GAP\b(?:mais|et) (?:ils )?NE ?(?:\w+ )?(?:SAY) (?:PAS)\b",
        r"\bSHOWN (?:est|sont) insuffisante?s?\b",
        r"\baucune? (?:des |de ces )?(?:\w+ )?SHOWNGAP\bNE ?(?:SAY)\b",
        r"\brien (?:dans|de) ANY|\bSHOWN (?:est|sont|reste(?:nt)?) (?:muets?|silencieux)\b",
        r"\bon (?:l')?ignore\bGAP\bANY|^\W*(?:non|pas) (?:\w+ment )?(?:SAID)\bGAP\bANY",
        r"\bNE ?(?:est|sont|figure|figurent|apparaît|apparaissent|se trouve|se trouvent|trouve)"
        r" (?:pas|aucune?)\b GAP\b(?:dans|par|à partir de) ANY",
        r"\b(?:dans|d'après|selon|avec|à partir de|sur la base de) ANYGAP\bNE ?(?:\w+ ){1,2}"
        r"(?:pas|aucune?)\b (?:\w+ )?(?:SAID|possible|LEARN|INFO)",
        r"\b(?:aucune|pas d') ?(?:\w+ )?(?:INFO)\bGAP(?:ANY|question|ce sujet)|"
        r"\b(?:INFO)\b (?:non|pas) (?:disponible|fournie?|trouvée?)s?\bGAP\bANY",
        r"\b(?:impossible|pas possible) (?:de |d')(?:LEARN|y répondre)\b(?=GAP\b(?:ANY|SHOWN|"
        r"question)"
        r"|\W*$)|^\W*(?:désolé\w*,? )?impossible de (?:LEARN)",
        r"\bquestion NE ?(?:trouve|peut|reçoit) pas\b",
    ),
    weak=(
        r"\bil n'y a (?:\w+ )?(?:aucune|pas d') ?(?:information|réponse|mention|indication)",
        r"\b(?:informations?|contexte|éléments) (?:\w+ )?insuffisante?s?\b|\bpas (?:assez|"
        r"suffisamment) d'(?:informations?|éléments)",
        r"\bil (?:n'est pas possible|est impossible) de (?:LEARN)",
        r"^\W*(?:inconnue?|non (?:précisé|mentionné|spécifié|disponible)e?|pas de réponse|"
        r"aucune (?:réponse|information)|je ne sais pas)\W*$",
    ),
)
