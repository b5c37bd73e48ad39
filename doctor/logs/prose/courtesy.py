"""Recognises sentences that only greet the reader, ask for help or say thanks, and so do not describe the
problem."""

from __future__ import annotations

from doctor import lazy

_LEXICON = """
hi hello hey dear all everyone everybody there guys folks team community sir madam thank thanks you so very
much many a lot in advance for your any the help time and best kind regards cheers greetings good morning
evening day afternoon sincerely yours please
hallo zusammen liebe leute guten tag morgen abend vielen dank herzlichen danke schon schön im voraus für eure
ihre hilfe gruß grüße viele liebe beste freundlichen mit
bonjour salut bonsoir à tous toutes merci beaucoup d avance par pour votre aide cordialement bien
hola buenas buenos tardes días noches a todos muchas gracias de antemano por su ayuda saludos un saludo
olá oi bom boa dia tarde pessoal muito obrigado obrigada desde já pela ajuda abraços
ciao salve buongiorno tutti grazie mille anticipo per l aiuto saluti
beste iedereen allemaal alvast bedankt voor de hulp heel erg groeten
cześć witam wszystkim dzień dobry z góry dziękuję dzięki za pomoc pozdrawiam
привет всем здравствуйте добрый день вечер заранее большое спасибо благодарю за помощь уважением с
merhaba herkese selam merhabalar şimdiden çok teşekkürler teşekkür ederim yardımınız için kolay gelsin
大家好 你好 您好 各位好 各位 谢谢 先谢谢大家了 谢谢大家 非常感谢 感谢 多谢 先谢了
提前感谢 拜托了 請問 谢谢了 謝謝 謝謝大家
皆さん こんにちは お世話になっております よろしくお願いします よろしくお願いいたします
ありがとうございます はじめまして 宜しくお願いします
안녕하세요 안녕하십니까 여러분 미리 감사드립니다 감사합니다 부탁드립니다 도움 고맙습니다
xin chào mọi người cảm ơn trước các bạn nhiều
सभी को नमस्ते अग्रिम धन्यवाद आपका
"""
"""Words of greeting and thanks in fifteen languages; whole phrases for languages without spaces between
words."""
_WORDS = frozenset(_LEXICON.split())
_DIGIT = lazy.compile(r"\d")
_WORD = lazy.compile(r"[^\W\d_](?:[^\W\d_]|[\u0900-\u0963])*")
LONGEST = 80
"""A sentence with more characters than this contains more than a greeting or thanks."""


def is_courtesy(sentence: str) -> bool:
    """Whether a sentence contains nothing but greetings and thanks."""
    return (
        len(sentence) <= LONGEST
        and not _DIGIT.search(sentence)
        and _WORDS.issuperset(_WORD.findall(sentence.lower()))
    )
