"""Recognises refusals in English, Vietnamese and Chinese: sentences that say the material does not tell.

A lexicon, so deliberately narrow: "The fee does not include meals" is substance, "The handbook does not mention meals"
is a refusal. Verbs that may mean either count only where the material, or the one who answers, is the subject.
"""

from __future__ import annotations

import re
import unicodedata

from ragguard.core.sentences import split_sentences
from ragguard.core.text import one_line

_EN_MATERIAL = (
    r"(?:passages?|contexts?|documents?|documentation|materials?|texts?|sources?|articles?|excerpts?|information|"
    r"knowledge base|handbooks?|pages?|snippets?|search results?|records?|guides?|faqs?)"
)
_EN_TELL = (
    r"(?:contain|mention|say|state|specify|provide|include|tell|give|cover|address|have|indicate|list|describe|"
    r"disclose|discuss|explain|answer|refer|talk|make clear|go into)"
)
_EN_TOLD = r"(?:mentioned|stated|specified|disclosed|addressed|described|discussed|answerable|indicated)"
_EN = (
    rf"\b{_EN_MATERIAL}\b[^.;]{{0,60}}?\b(?:do|does|did|would)(?: not|n't)\b(?: \w+ly)? {_EN_TELL}\b",
    rf"\b{_EN_MATERIAL}\b[^.;]{{0,40}}? (?:says?|contains?|has|have|gives?|mentions? nothing|makes?) (?:nothing|no )",
    rf"\b(?:is|are|was|were)(?: not|n't)(?: \w+ly)?(?: being)? {_EN_TOLD}\b",
    r"\b(?:is|are|was|were)(?: not|n't) (?:provided|known)[.!]?$",
    (
        r"\b(?:is|are|was|were)(?: not|n't) (?:\w+ )?(?:provided|given|included|available|found|covered|listed|"
        r"contained|present)\b[^.;]{0,20} (?:in|by|from) (?:the|these|those|this|any|my|our)\b"
        rf"[^.;]{{0,30}}{_EN_MATERIAL}\b"
    ),
    rf"\b(?:absent|missing) from (?:the|these|those|this)\b[^.;]{{0,30}}{_EN_MATERIAL}\b",
    (
        r"\bno (?:\w+ )?(?:information|mention|details?|evidence|indication|answer) (?:is|are|was|were|about|on|"
        r"regarding|of|that|for|concerning|in|available|provided|given|found|to)\b"
    ),
    r"\b(?:there is|there's|i have|we have|i found|contains?) no (?:\w+ )?(?:information|mention|answer|details?)\b",
    (
        r"\b(?:not|isn't|n't|without) (?:have |contain |provide )?(?:enough|sufficient|any) (?:\w+ )?"
        r"(?:information|context|details?|evidence)\b"
    ),
    r"\binsufficient (?:information|context|evidence|details?)\b",
    (
        r"\b(?:i|we)(?: am| are|'m|'re)? (?:cannot|can't|can not|could not|couldn't|unable to|not able to) "
        r"(?:\w+ly )?(?:answer|find|determine|say|tell|confirm|locate|verify|assist|help|respond|know|see any)\b"
    ),
    (
        r"\b(?:i|we)(?: am| are|'m|'re)? (?:cannot|can't|can not|could not|couldn't|unable to|not able to) "
        r"(?:provide|give|offer) (?:you )?(?:with )?(?:an? |any |the |this |that |more |further |specific )*"
        r"(?:\w+ )?(?:answer|information|details?|response|it|that|this)\b"
    ),
    r"\b(?:cannot|can't|can not|could not|couldn't) be (?:answered|determined|established|inferred|confirmed)\b",
    r"^(?:unable to|cannot|can't) (?:answer|determine|find)\b",
    (
        r"\b(?:i|we) (?:do not|don't|did not|didn't) (?:actually )?(?:know|have (?:\w+ ){0,3}"
        r"(?:information|knowledge|details?|answer|context))\b"
    ),
    r"^(?:(?:sorry|unfortunately),? )?(?:i'm |i am |we're |we are )?not (?:quite |really )?(?:sure|certain)\b",
    r"\b(?:outside|beyond) (?:of )?(?:the scope|my knowledge|what i)\b",
    r"\b(?:question|this|that|it) (?:is|seems|remains) unanswerable\b|^(?:unanswerable|no answer|unknown)[.!]?$",
    r"[:：] ?(?:not (?:provided|stated|given|mentioned|specified|available|found)|n/a|unknown)[.!]?$",
)
_VI_MATERIAL = (
    r"(?:tài liệu|văn bản|ngữ cảnh|đoạn văn|đoạn trích|trích đoạn|các đoạn|thông tin|nguồn|nội dung|dữ liệu|bài viết|"
    r"quy định|sổ tay|tư liệu|cẩm nang|hướng dẫn)"
)
_VI_TELL = (
    r"(?:nêu|nói|đề cập|nhắc|cung cấp|chứa|cho biết|ghi|đưa ra|trình bày|chỉ rõ|chỉ ra|quy định|có thông tin|đủ|"
    r"giải thích|mô tả|bàn)"
)
_VI = (
    rf"{_VI_MATERIAL}[^.;]{{0,60}}?(?:không|chưa|chẳng)(?: hề| có| thấy| được)* {_VI_TELL}",
    (
        r"(?:không|chưa|chẳng) (?:hề )?(?:có|thấy)(?: đủ| bất kỳ| bất cứ| một| các| nhiều)* "
        r"(?:thông tin|dữ liệu|dữ kiện|câu trả lời|căn cứ|cơ sở|chi tiết|đề cập|tài liệu nào)"
    ),
    r"(?:không|chưa) đủ (?:thông tin|dữ liệu|dữ kiện|căn cứ|cơ sở)",
    r"(?:không|chưa)(?: thể)? (?:tìm thấy|tìm được|tìm ra)",
    (
        r"(?:không|chưa) thể (?:trả lời|xác định|khẳng định|kết luận|cho biết|đưa ra câu trả lời|cung cấp câu trả lời|"
        r"cung cấp thông tin|giải đáp)"
    ),
    (
        r"\b(?:tôi|mình|em|chúng tôi)(?: cũng| thực sự| rất tiếc)? (?:không|chưa)(?: thể)? "
        r"(?:biết|rõ|chắc|nắm|xác nhận|giúp|hỗ trợ|trả lời|nói)"
    ),
    r"(?:không|chưa) được (?:nêu|đề cập|nhắc đến|nhắc tới|cho biết|nói rõ|nói đến|ghi rõ|nêu rõ|làm rõ)",
    r"(?:ngoài|vượt quá) (?:phạm vi|khả năng)",
    r"(?:^|[:：] ?)(?:không (?:rõ|biết|nêu|có thông tin)|chưa (?:rõ|nêu))[.!]?$",
)
_ZH_MATERIAL = (
    r"(?:资料|材料|文档|文件|文中|文本|上下文|段落|文章|信息|原文|内容|来源|检索结果|知识库|手册|片段|這些|資料|文檔)"
)
_ZH_NOT = r"(?:没有|沒有|并没有|并未|並未|未曾|未能|没能|未|没|不)"
_ZH_TELL = (
    r"(?:提到|提及|说明|說明|提供|包含|包括|涉及|给出|指出|记载|列出|写明|规定|描述|告诉|显示|讲|说|介绍|交代|找到|"
    r"回答|足以|足够|有关|相关)"
)
_ZH = (
    rf"{_ZH_MATERIAL}[^。；]{{0,30}}?{_ZH_NOT}(?:明确|具体|直接|详细|有|能|曾|任何|地)*{_ZH_TELL}",
    rf"{_ZH_NOT}(?:有|被|曾)?(?:明确|具体|直接|详细|地)*(?:提到|提及|写明|记载|说明|說明)",
    (
        r"(?:没有|沒有|无|缺乏|缺少|找不到|未找到|没有找到|没找到|查不到|未能找到|不含|没有足够的?)"
        r"(?:任何|足够|相关|有关|相關|具体|这方面|的)*(?:(?:与|关于|有关)[^，。；]{1,20})?(?:相关|有关|的)*"
        r"(?:信息|資訊|资料|資料|说明|记载|答案|依据|内容)"
    ),
    (
        r"(?:无法|無法|不能|难以|没法|没办法)(?:(?:根据|从)[^，。；]{1,20})?"
        r"(?:准确|直接|明确|为您|为你|给您|地)*"
        r"(?:回答|作答|答复|解答|得知|得出|判断|确定|告诉|知道|给出|提供(?:答案|信息|相关|具体))"
    ),
    r"(?:^|我|我们|目前|暂时|抱歉|对不起|，)(?:也|并|还|真的|暂)?(?:不知道|不清楚|不确定|不太清楚)",
    r"[:：] ?(?:未提供|未说明|未提及|不详|未知|无)[。！]?$",
    r"超出(?:了)?[^，。；]{0,10}(?:范围|能力)",
)
_REFUSAL = re.compile("|".join((*_EN, *_VI, *_ZH)))

_INTERJECTION = re.compile(
    r"^(?:(?:hi|hello|hey|dear|sorry|i'm (?:so |very )?sorry|i am (?:so |very )?sorry|apologies|my apologies|"
    r"unfortunately|sure|of course|certainly|yes|well|(?:great|good) question|xin lỗi|rất tiếc|thật tiếc|tiếc là|"
    r"rất xin lỗi|(?:xin )?chào(?: bạn| anh| chị| em| quý khách| phụ huynh)*|dạ|vâng|thưa|你好|您好|"
    r"(?:非常|很)?抱歉|对不起|不好意思|(?:很|非常)?遗憾|当然|好的)"
    r"(?: (?:there|all|about that|for that|for the inconvenience|you|bạn|quý vị))*"
    r"[\s,.!:，。！：、]*)+"
)
_OFFER = re.compile(
    r"^(?:i apologi[sz]e|(?:many )?thanks?\b|thank you|you're welcome|(?:i )?hope (?:this|that|it)|let me know|"
    r"(?:please )?feel free|if you (?:have|need|want|would like|require) "
    r"(?:\w+ ){0,4}(?:questions?|help|information|details?|assistance|clarification|concerns?)\b|"
    r"please (?:contact|ask|check|consult|refer|let|feel|provide|clarify|see|reach|share)|(?:you|it) "
    r"(?:may|can|could|should|might)(?: want to| wish to| be best to)? (?:contact|ask|check|consult|reach out|look)|"
    r"i (?:would |'d )?(?:recommend|suggest) (?:that you |you )?(?:contact|ask|check|consult|reach|look)|i can help|"
    r"for (?:more|further) (?:information|details)|"
    r"cảm ơn|cám ơn|xin cảm ơn|hy vọng|(?:xin )?vui lòng|hãy liên hệ|(?:tôi|mình|em) xin lỗi|"
    r"(?:bạn|anh|chị|quý vị|anh/chị|quý khách|phụ huynh|học sinh|em) (?:có thể|nên|vui lòng|hãy)(?: thử)? "
    r"(?:liên hệ|hỏi|kiểm tra|tham khảo|xem thêm)|nếu (?:bạn |anh |chị )?(?:cần|có) (?:thêm|hỗ trợ|câu hỏi|thắc mắc)|"
    r"谢谢|感谢|希望(?:这|以上|对)|请(?:您|你)?(?:联系|咨询|查看|参考|查阅|向|提供|告诉|直接|随时)|"
    r"建议(?:您|你)?(?:联系|咨询|查看|查阅|直接|向)|如(?:果)?(?:您|你)?(?:有|需)(?:要)?(?:其他|任何|更多|别的|疑问|问题|帮助)|"
    r"(?:您|你)可以(?:联系|咨询|查看|向)|欢迎)"
)
_ADVERSATIVE = re.compile(
    r"[;；]|\s(?:but|however|nevertheless|yet|though)\b,?|(?:^|[\s,])(?:nhưng|tuy nhiên|song)\b,?|"
    r"但是?|不过|然而|只(?:知道|提到|说明?)|仅(?:知道|提到|说明)|\sonly (?:that|says?|mentions?|states?)\b|"
    r"\schỉ (?:biết|nêu|nói|đề cập)\s"
)
_CONCESSIVE = re.compile(r"^(?:although|though|even though|even if|while|mặc dù|tuy|dù|虽然|尽管|雖然)")
_COMMA = re.compile(r"[,，]")
_WORD = re.compile(r"\w")
_DIGIT = re.compile(r"\d")
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'"})


def folded(text: str) -> str:
    """A text as the lexicon reads it: NFKC, lower case, one line, straight apostrophes."""
    return one_line(unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)).casefold()


def refuses(sentence: str) -> bool:
    """Whether a sentence says that something is not told or cannot be answered, whatever else it says."""
    return bool(_REFUSAL.search(folded(sentence)))


def is_claimless(sentence: str) -> bool:
    """Whether a sentence states nothing about the subject: only a refusal, a greeting, an offer, a question, a mark."""
    text = folded(sentence)
    return all(_is_empty(clause) or bool(_REFUSAL.search(clause)) for clause in _clauses(text))


def only_refuses(text: str) -> bool:
    """Whether a text refuses and does nothing else; a refusal followed by substance is not only a refusal.

    A blank text refuses nothing.
    """
    sentences = split_sentences(text)
    return any(refuses(sentence) for sentence in sentences) and all(is_claimless(sentence) for sentence in sentences)


def _clauses(text: str) -> list[str]:
    """Parts of a sentence of which one may refuse and the other tell something."""
    clauses = [clause.strip() for clause in _ADVERSATIVE.split(text)]
    return [
        part.strip()
        for clause in clauses
        for part in (_COMMA.split(clause, maxsplit=1) if _CONCESSIVE.match(clause) else [clause])
    ]


def _is_empty(clause: str) -> bool:
    rest = _INTERJECTION.sub("", clause)
    if not _WORD.search(rest) or rest.endswith("?"):
        return True
    # A phone number or a price makes an offer a statement.
    return bool(_OFFER.match(rest)) and not _DIGIT.search(rest)
