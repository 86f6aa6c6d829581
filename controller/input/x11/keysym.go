package x11

import (
	"unicode"
	"unicode/utf8"
)

// Keysyms that are spoken of here (X11/keysymdef.h).
const (
	symTab        = 0xff09
	symReturn     = 0xff0d
	symModeSwitch = 0xff7e
	symShiftL     = 0xffe1
	symShiftR     = 0xffe2
	symLevel3     = 0xfe03
	symLevel5     = 0xfe11
)

// symUnicode is added to a character's number to make its keysym. Some characters have an old
// keysym instead (X Window System Protocol, appendix A).
const symUnicode = 0x0100_0000

// old are the keysyms of characters from before Unicode, those of national character sets: the
// first one's number, and the characters from there on, with gaps. Source: X11/keysymdef.h.
var old = []struct {
	first uint32
	runes string
}{
	{0x1a1, "Ą˘Ł ĽŚ  ŠŞŤŹ ŽŻ ą˛ł ľśˇ šşťź˝žżŔ  Ă ĹĆ Č Ę Ě  ĎĐŃŇ  Ő  ŘŮ Ű  Ţ ŕ  ă ĺć č ę ě  ďđńň  ő  řů ű  ţ˙"},
	{0x2a1, "Ħ"},
	{0x2a6, "Ĥ  İ ĞĴ"},
	{0x2b1, "ħ"},
	{0x2b6, "ĥ  ı ğĵ"},
	{0x2c5, "ĊĈ"},
	{0x2d5, "Ġ  Ĝ"},
	{0x2dd, "ŬŜ"},
	{0x2e5, "ċĉ"},
	{0x2f5, "ġ  ĝ"},
	{0x2fd, "ŭŝ"},
	{0x3a2, "ĸŖ ĨĻ   ĒĢŦ"},
	{0x3b3, "ŗ ĩļ   ēģŧŊ ŋĀ"},
	{0x3c7, "Į"},
	{0x3cc, "Ė  Ī ŅŌĶ"},
	{0x3d9, "Ų   ŨŪ ā"},
	{0x3e7, "į"},
	{0x3ec, "ė  ī ņōķ"},
	{0x3f9, "ų   ũū"},
	{0x47e, "‾"},
	{0x4a1, "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゛゜"},
	{0x5ac, "،"},
	{0x5bb, "؛   ؟ ءآأؤإئابةتثجحخدذرزسشصضطظعغ"},
	{0x5e0, "ـفقكلمنهوىي\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652"},
	{0x6a1, "ђѓёєѕіїјљњћќґўџ№ЂЃЁЄЅІЇЈЉЊЋЌҐЎЏюабцдефгхийклмнопярстужвьызшэщчъЮАБЦДЕФГХИЙКЛМНОПЯРСТУЖВЬЫЗШЭЩЧЪ"},
	{0x7a1, "ΆΈΉΊΪ ΌΎΫ Ώ  ΅― άέήίϊΐόύϋΰώ"},
	{0x7c1, "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣ ΤΥΦΧΨΩ"},
	{0x7e1, "αβγδεζηθικλμνξοπρσςτυφχψω"},
	{0x8a1, "⎷  ⌠⌡ ⎡⎣⎤⎦⎛⎝⎞⎠⎨⎬"},
	{0x8bc, "≤≠≥∫∴∝∞  ∇  ∼≃   ⇔⇒≡"},
	{0x8d6, "√   ⊂⊃∩∪∧∨"},
	{0x8ef, "∂"},
	{0x8f6, "ƒ"},
	{0x8fb, "←↑→↓"},
	{0x9e0, "◆▒␉␌␍␊  ␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│"},
	{0xaa1, "\u2003\u2002\u2004\u2005\u2007\u2008\u2009\u200a—–   …‥⅓⅔⅕⅖⅗⅘⅙⅚℅  ‒"},
	{0xac3, "⅛⅜⅝⅞  ™"},
	{0xad0, "‘’“”℞‰′″ ✝"},
	{0xaec, "♣♦♥ ✠†‡✓✗♯♭♂♀☎⌕℗‸‚„"},
	{0xbc2, "⊤ ⌊"},
	{0xbca, "∘ ⎕ ⊥○   ⌈"},
	{0xbdc, "⊣"},
	{0xbfc, "⊢"},
	{0xcdf, "‗אבגדהוזחטיךכלםמןנסעףפץצקרשת"},
	{0xda1, "กขฃคฅฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรฤลฦวศษสหฬอฮฯะ\u0e31าำ\u0e34\u0e35\u0e36\u0e37\u0e38\u0e39\u0e3a"},
	{0xddf, "฿เแโใไๅๆ\u0e47\u0e48\u0e49\u0e4a\u0e4b\u0e4c\u0e4d  ๐๑๒๓๔๕๖๗๘๙"},
	{0xea1, "ㄱㄲㄳㄴㄵㄶㄷㄸㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅃㅄㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣᆨᆩᆪᆫᆬᆭᆮᆯᆰᆱᆲᆳᆴᆵᆶᆷᆸᆹᆺᆻᆼᆽᆾᆿᇀᇁᇂㅭㅱㅸㅿㆁㆄㆆㆍㆎᇫᇰᇹ"},
	{0x13bc, "ŒœŸ"},
	{0x20ac, "€"},
}

// oldSyms returns the old keysyms by their characters.
func oldSyms() map[rune]uint32 {
	m := map[rune]uint32{}
	for _, run := range old {
		sym := run.first
		for _, r := range run.runes {
			if _, twice := m[r]; r != ' ' && !twice {
				m[r] = sym
			}
			sym++
		}
	}
	return m
}

// symOf returns the keysym of a character without an old one. It returns 0 for control characters,
// except the ends of lines and tabs, which keys type.
func symOf(r rune) uint32 {
	switch {
	case r == '\n' || r == '\r':
		return symReturn
	case r == '\t':
		return symTab
	case unicode.IsControl(r) || !utf8.ValidRune(r):
		return 0
	case r < 0x100:
		return uint32(r)
	}
	return symUnicode | uint32(r)
}
