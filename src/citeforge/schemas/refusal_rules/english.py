"""Refusals in English.

A block may stand, by its name in capitals, in those after it and in rules.
"""

from citeforge.schemas.refusal_rules.rules import make

ENGLISH = make(
    {
        "GAP": r"[^.!?\n]{0,70}",  # words of the same sentence
        "NEAR": r"(?:(?!\b(?:that|which|who|whose|because|since|when|where|if)\b)[^.!?\n]){0,60}",
        "QUAL": r"provided|given|supplied|retrieved|available|above|shown|search|listed|cited|"
        r"relevant|returned|following|attached|present|current",
        # What an answer calls what it was shown: "does not mention" is a refusal of that alone,
        # not "the text of the law", nor what results as such show.
        "NOUN": r"passages?|documents?|sources?|contexts?|texts?|articles?|snippets?|excerpts?|"
        r"references|materials?|paragraphs|(?:search|QUAL) (?:results|information|paragraph)|"
        r"(?:results|information)(?= (?:QUAL|at hand|here))",
        "SHOWN": r"NOUN(?: (?:QUAL|at hand|here|alone|i (?:was|am|have been) (?:given|shown)|"
        r"you(?:'ve| have)? (?:gave|given|provided|shared|sent)(?: me)?))*\b(?! (?:of|for)\b)",
        "ANY": r"(?!(?:this|that) context)(?:the|these|those|this|that|any|any of the|each|all|"
        r"your|my|either|what)(?: \w+){0,2} SHOWN",
        # As a subject: "the original text" is not what was shown.
        "SUBJECT": r"(?:^\W*|\b(?:the|these|those|this|that|your|my|all|both|any|QUAL)"
        r" (?:(?:two|three|four|five|ten|context|other|same|first|second|\d+) )?)SHOWN",
        # Of several, or of what is said to be given, whatever they do not do is a refusal.
        "SEVERAL": r"\b(?:the|these|those|your|my) (?:(?:\w+ )?(?:passages|documents|snippets|"
        r"excerpts|contexts|articles|texts)|(?:QUAL) NOUN)\b(?! (?:of|for)\b)",
        "SAY": r"contain|provide(?! for)|mention|answer|say|state|include|specify|indicate|"
        r"give(?! off| up| in\b)|address|discuss|offer|cover|tell|name|reveal|explain|identify|"
        r"describe|disclose|support|list|clarify|report|refer|note|record|show|"
        r"make (?:any )?(?:reference|"
        r"mention)|go into|allow|permit|help|have",
        "SAYS": r"contains|provides|mentions|answers|says|states|includes|specifies|indicates|"
        r"gives|addresses|discusses|offers|covers|tells|names|reveals|explains|identifies|"
        r"describes|supports|makes|has",
        "SAID": r"mentioned|provided|stated|answered|specified|given|discussed|addressed|named|"
        r"covered|described|included|found|contained|available|present|explained|listed|"
        r"disclosed|reported|identified|clear(?! of)|known|possible|recorded|made",
        "NOT": r"(?: not|n't)(?: \w+ly)?(?: directly| even| actually)?",
        "INFO": r"information|answer|mention|details?|data|evidence|context",
        "CANNOT": r"cannot|can not|can't|could not|couldn't",
        "LEARN": r"answer|determine|identify|locate|conclude|respond|verify|confirm|ascertain|"
        r"establish|infer|deduce|say|tell|know|find|be (?:determined|answered|said|concluded|"
        r"identified|established|verified|known|inferred|found|resolved|settled)",
    },
    strong=(
        r"SUBJECT NEAR\b(?:do|does|did)NOT (?:SAY)\b",
        r"SUBJECT GAP\b(?:but|yet|and|although|though|however)(?:,? (?:they|it))? (?:do|does|did)"
        r"NOT (?:SAY)\b",
        r"SEVERAL NEAR\b(?:do|does|did)NOT \w",
        r"SUBJECT GAP\bbut not (?:the|a|an|any|who|when|where|how|why|what|which)\b",
        r"SUBJECT (?:\w+ly )?(?:(?:never|fails?|failed)(?: to)? (?:SAYS|SAY)|lacks?|"
        r"stops? short of|leaves? (?:it |this )?open|only (?:SAYS|SAY|talks?|focus(?:es)?|"
        r"deals?))\b",
        r"SUBJECT (?:\w+ly )?(?:SAYS|SAY) (?:nothing|no|neither|nowhere|insufficient|too little|"
        r"not enough)\b",
        r"SUBJECT (?:is|are)(?: all| both)? (?:silent|insufficient|inadequate|(?:not|n't) "
        r"(?:sufficient|enough|relevant|explicit|conclusive|helpful|about)|"
        r"about (?:a |an )?(?:different|other|another|unrelated)|unrelated|irrelevant)",
        r"SUBJECT (?:is|are)n't (?:sufficient|enough|relevant|explicit|conclusive|helpful|about)",
        r"\bas far as ANY",
        r"\b(?:none|neither|not one|nothing)(?: of| in| from)? ANYGAP\b(?:SAYS|SAY)\b",
        r"\bnone of (?:the|these|my|your)(?: \w+){0,2} (?:NOUN|results)\b",
        r"\bnothing (?:in|from|within) ANY|\bno (?:\w+ )?(?:passages|documents|sources|results)"
        r"(?: here)? (?:that )?(?:SAY)\b",
        r"^\W*not (?:\w+ly )?(?:SAID)\bGAP\bANY",
        r"\b(?:no|neither)(?: QUAL)? (?:passage|source|context|excerpt|snippet|(?:QUAL) NOUN)"
        r" (?:SAYS|SAY)\b|\bneither (?:document|text|article) (?:SAYS)\b",
        r"\bno \w+(?: \w+){0,6} (?:is|are|was|were|can be|could be) (?:\w+ )?(?:SAID)\bGAP\bANY",
        r"\b(?:is|are|was|were)NOT (?:\w+ )?(?:SAID)\bGAP\b(?:in|by|from|within|among|on) ANY",
        r"\b(?:is|are|was|were)NOT (?:in|among|part of|within) ANY",
        r"\b(?:missing|absent|left open|left out|omitted) (?:from|by|in) ANY",
        r"\b(?:beyond|outside)(?: the scope of)?(?: what)? ANY",
        r"\b(?:based on|according to|from|in|with|given) ANYGAP\b(?:(?:is|are|was|were)NOT"
        r" (?:\w+ )?(?:SAID)\b|(?:is|are|was|remains) (?:un(?:clear|known|specified|stated))|"
        r"(?:CANNOT) (?:\w+ly )?(?:LEARN)\b|(?:not possible|impossible) to\b|"
        r"there (?:is|are) (?:no|not|insufficient)\b)",
        r"\b(?:un(?:clear|known|specified)|(?:CANNOT) (?:\w+ly )?(?:LEARN)\b)GAP\b(?:from|in|by|"
        r"with|based on|on the basis of) ANY",
        r"\bthere(?:'s| is| was| are|'re)(?:n't| not)? (?:no|any|enough|insufficient|sufficient)"
        r" (?:\w+ )?(?:INFO)\bGAP\bANY",
        r"\b(?:not possible|impossible) to (?:LEARN|give|provide)\b(?=GAP\b(?:ANY|question|"
        r"information)|.{0,30}\b(?:from|with|given) what)|"
        r"\bANYGAP\b(?:not possible|impossible) to (?:LEARN|give|provide)\b",
        # By who answers.
        r"\bi(?:(?:'m| am| was| have been)? ?(?:not|n't)? ?(?:unable|not able|n't able|"
        r"not in a position) to| (?:CANNOT))(?: \w+ly)? (?:answer|determine|identify|locate|"
        r"conclude|respond|verify|confirm|ascertain|establish|infer|deduce|help|assist)\b",
        r"\bi(?:(?:'m| am| was)? ?(?:unable|not able) to| (?:CANNOT)|(?: was|'m|"
        r" am)n't able to)(?: \w+ly)? (?:provide|give|offer|find|see) (?:you )?(?:with )?(?:a|an|"
        r"any|the|that|this|it|out|more|further|specific)\b",
        r"\bi(?:(?:'m| am| was)? ?(?:unable|not able) to| (?:CANNOT))(?: \w+ly)? (?:say|tell|know)"
        r"(?: (?:you|from|who|what|when|where|which|whether|for|that|this|how|why|with|if|"
        r"based)\b|"
        r"\W*$)",
        r"\b(?:i was|i'm|i am|we were|we are)(?:n't| not) able to (?:find|answer|locate|determine|"
        r"identify|say|tell)\b",
        r"\bwe (?:(?:are|were) (?:unable|not able) to|"
        r"CANNOT) (?:\w+ly )?(?:(?:LEARN)\b(?=GAP\bANY|"
        r" this question| the question| the answer)|find (?:an?|any|the) (?:answer|information|"
        r"mention)|answer\b)",
        r"\bi (?:do not|don't|did not|didn't) (?:know\b(?! of| any| a\b)|(?:see|find|have)"
        r" (?:\w+ ){0,3}(?:INFO|access|knowledge)\b|find that)",
        r"\bwe (?:do not|don't) (?:know (?:the answer|from)|have (?:\w+ ){0,2}information"
        r"(?: (?:to|about|on|regarding|that|here)\b|\W*$))",
        r"\b(?:i|we) have no (?:\w+ )?(?:INFO|way of|idea|knowledge|means of)\b",
        r"\bi (?:could |can )?(?:find|found|see) (?:no|nothing)\b|\bwe (?:could |can )?(?:find|"
        r"found)"
        r" no (?:\w+ )?(?:information|answer|mention)\b",
        r"\bi(?:'d| would)? need (?:\w+ )?(?:more|additional|further) (?:context|information|"
        r"details)",
        r"\bi (?:must|have to|will have to|need to|will|would|'ll)(?: rather)? (?:decline|abstain|"
        r"refrain|not answer|pass)\b|\bi decline\b|\bso i (?:will|can) not answer",
        r"\bnot something (?:that )?i can\b|\b(?:answer is|answer's)(?: not|n't) there\b|"
        r"\bno answer is possible\b",
    ),
    weak=(
        r"\bthere(?:'s| is| was| are|'re)(?:n't| not)? (?:no|any|enough|insufficient|sufficient)"
        r" (?:\w+ )?(?:information|answer|mention|details?|data)(?: (?:about|on|regarding|"
        r"available|here|given|provided|to (?:LEARN))\b|\W*$)",
        r"\bthere(?:'s| is)(?:n't| not)(?: enough| sufficient) (?:\w+ )?(?:INFO)\b",
        r"\b(?:insufficient|not enough|n't enough|not sufficient|no relevant) (?:\w+ )?(?:INFO)"
        r"(?:\W*$|GAP\bto (?:LEARN)\b| (?:is |was )?(?:available|provided|given))",
        r"\bno (?:relevant |further )?(?:passages?|documents?|sources?|results?|information|"
        r"answer)"
        r"(?: \w+){0,3} (?:was|were|is|are|could be|can be) (?:found|available|provided|given)"
        r"(?:\W*$|, so|\W+to answer| for)",
        r"\b(?:un|not )answerable\b|\b(?:question|this|it) (?:CANNOT|is impossible to) (?:be )?"
        r"(?:answer(?:ed)?|determined?)\b(?! by)",
        r"\b(?:is|are|was|were)NOT (?:\w+ly )?(?:SAID) anywhere",
        r"\b(?:not possible|impossible) to (?:LEARN)\W*$",
        r"^\W*(?:the|his|her|its|their)\b[^.!?,;\n]{0,60} (?:is|are|was|"
        r"were)NOT (?:\w+ly )?(?:given|"
        r"stated|specified|mentioned|provided|indicated|recorded)\W*$",
        r"\bi(?:'m| am) (?:sorry|afraid)\b[^.\n]{0,20}\bno (?:answer|information)",
        r"^\W*(?:answer: )?(?:(?:unknown|unclear|not (?:stated|given|specified|mentioned|known|"
        r"answerable|enough information)|no (?:answer|information)(?: found| available| given)?|"
        r"n/a|unable to (?:answer|determine|say)|cannot answer)\W*$|(?:CANNOT) (?:be )?(?:LEARN|"
        r"answered|determined)\b)",
    ),
)
