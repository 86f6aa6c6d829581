package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// style is the SGR parameter of a text on a terminal.
type Style string

const (
	Bold    Style = "1"
	BoldRed Style = "1;31"
	red     Style = "31"
	green   Style = "32"
	yellow  Style = "33"
)

// styleOf returns the style of a verdict's or a state's word. Other words have none.
func StyleOf(word string) Style {
	switch word {
	case "improved", "ok":
		return green
	case "regressed", "fail", "DIFFERS":
		return red
	case "inconclusive", "warn":
		return yellow
	}
	return ""
}

// newPlainWriter returns a writer for texts, with colours and characters that its terminal shows.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: Legible(w), colours: IsTerminal(w) && os.Getenv("NO_COLOR") == "" && able(os.Getenv("TERM"))}
}

// able reports whether a kind of terminal obeys escape sequences.
func able(kind string) bool { return kind != "" && kind != "dumb" }

// inStyle writes a text in a style, if the writer's terminal has colours. Control characters in the
// text are replaced as usual.
func InStyle(w io.Writer, s Style, text string) error {
	p, ok := w.(*Writer)
	if !ok || !p.colours || s == "" || text == "" {
		_, err := io.WriteString(w, text)
		return err
	}
	line := strings.TrimRight(text, "\n")
	_, _ = fmt.Fprintf(p.w, "\x1b[%sm", s) // the last write returns the error
	_, _ = io.WriteString(p, line)
	_, err := io.WriteString(p.w, "\x1b[0m"+text[len(line):])
	return err
}

// legible returns a writer that writes ASCII, if w is a terminal and the locale is not UTF-8.
func Legible(w io.Writer) io.Writer {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	charset := strings.ToLower(strings.ReplaceAll(locale, "-", ""))
	if !IsTerminal(w) || runtime.GOOS == "windows" || strings.Contains(charset, "utf8") {
		return w
	}
	return &asciiWriter{w: w}
}

// asciiWriter replaces characters beyond ASCII. It may be used by several goroutines.
type asciiWriter struct {
	w    io.Writer
	mu   sync.Mutex
	rest []byte // of a character that the last write cut
}

func (a *asciiWriter) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := append(a.rest, b...)
	whole := len(text)
	for cut := 1; cut < utf8.UTFMax && cut <= len(text); cut++ {
		if last := text[len(text)-cut:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole -= cut
			}
			break
		}
	}
	a.rest = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(a.w, ascii(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// similar are ASCII forms of the program's own characters.
var similar = strings.NewReplacer("–", "-", "—", "-", "−", "-", "…", "...", "×", "x", "°", "deg ", "µ", "u",
	"·", ".", "±", "+-", "→", "->", "←", "<-", "≥", ">=", "≤", "<=", "’", "'", "‘", "'", "“", `"`, "”", `"`,
	"Σ", "sum", "²", "^2", "\u00a0", " ")

// ascii replaces characters beyond ASCII by similar ones, and unknown ones by their escapes.
func ascii(s string) string {
	var b strings.Builder
	s = similar.Replace(s)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r < utf8.RuneSelf:
			b.WriteByte(s[i])
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// shownOn returns a cleaned text as the writer's terminal shows it, for layout.
func shownOn(w io.Writer, s string) string {
	if p, ok := w.(*Writer); ok {
		w = p.w
	}
	if _, ok := w.(*asciiWriter); ok {
		return ascii(Clean(s))
	}
	return Clean(s)
}

// inherited returns the file below the writers of this program, for child processes.
func Inherited(w io.Writer) io.Writer {
	switch w := w.(type) {
	case *Writer:
		return Inherited(w.w)
	case *asciiWriter:
		return w.w
	}
	return w
}

func IsTerminal(w io.Writer) bool {
	f, ok := Inherited(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
