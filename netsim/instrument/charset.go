package instrument

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/internal/document"
	"github.com/eideticker/eideticker/pattern"
)

// boms have the marks at the begin of a text. They precede all other statements of its charset.
var boms = map[string]string{"\xef\xbb\xbf": "utf-8", "\xfe\xff": "utf-16be", "\xff\xfe": "utf-16le"}

// charsetOf returns the charset of a response, as browsers do (Encoding, 6.1; HTML, 13.2.3.2). It
// is empty for UTF-8, and if nothing states it. Unknown labels do not count.
func charsetOf(content []byte, contentType string, others ...string) (charset string, stated bool) {
	labels := make([]string, 0, 4)
	for _, size := range []int{2, 3} {
		labels = append(labels, boms[string(content[:min(size, len(content))])])
	}
	if _, parameters, err := mime.ParseMediaType(contentType); err == nil {
		labels = append(labels, parameters["charset"])
	}
	for _, label := range append(labels, others...) {
		e, err := htmlindex.Get(label)
		if err != nil {
			continue
		}
		if name, err := htmlindex.Name(e); err == nil && name != "utf-8" {
			return name, true
		}
		return "", true
	}
	return "", false
}

// pageCharset returns the charset of a document; empty for UTF-8. It reads no further than needed.
func pageCharset(content io.Reader, contentType string) (string, error) {
	begin := make([]byte, 3)
	n, err := io.ReadFull(content, begin)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return "", err
	}
	charset, stated := charsetOf(begin[:n], contentType)
	if stated {
		return charset, nil
	}
	return metaCharset(io.MultiReader(bytes.NewReader(begin[:n]), content))
}

var charsetParameter = pattern.New(`(?i)charset\s*=\s*["']?([^\s"';]+)`)

// searched is the number of bytes in which browsers search for the charset, also behind the head.
const searched = 1024

// metaCharset returns the charset of a document's meta element. Browsers replace UTF-16 by UTF-8.
// It searches as Chromium does: up to the end of the head.
func metaCharset(content io.Reader) (string, error) {
	z := html.NewTokenizer(content)
	var begin []byte
	for at, head := 0, true; head || at < searched; {
		kind := z.Next()
		raw := z.Raw()
		at += len(raw)
		begin = append(begin, raw[:min(len(raw), searched-len(begin))]...)
		switch kind {
		case html.ErrorToken:
			head, at = false, searched
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			t := z.Token()
			head = head && slices.Contains(headTags, t.Data)
			if label, ok := labelOf(t); ok && kind != html.EndTagToken {
				return label, nil
			}
		}
	}
	if document.IsUTF16(begin[:min(len(begin), 256)]) {
		return "", errors.New("the document is in UTF-16 without a mark or header")
	}
	return "", nil
}

// headTags have the tags before the end of a head.
var headTags = []string{"html", "head", "script", "noscript", "style", "link", "meta", "object", "title", "base"}

// labelOf returns the charset that a tag states.
func labelOf(t html.Token) (charset string, stated bool) {
	if t.Data != "meta" {
		return "", false
	}
	of := map[string]string{}
	for _, a := range t.Attr {
		of[a.Key] = a.Val
	}
	label := of["charset"]
	if found := charsetParameter.FindStringSubmatch(of["content"]); label == "" && found != nil &&
		strings.EqualFold(of["http-equiv"], "content-type") {
		label = found[1]
	}
	if charset, stated = charsetOf(nil, "", label); charset == "utf-16be" || charset == "utf-16le" {
		charset = ""
	}
	return charset, stated
}

// decoded is a text in UTF-8 and its original bytes.
type decoded struct {
	text     string
	original []byte
	charset  string
	encoding encoding.Encoding // nil: the text has the original bytes
}

// decode reads the text of a response.
func decode(original []byte, charset string) (decoded, error) {
	d := decoded{original: original, charset: charset}
	// The bytes of a character depend on those before it, so an insertion could change what follows.
	if charset == "iso-2022-jp" || charset == "replacement" {
		return d, fmt.Errorf("the charset %q is not supported", charset)
	}
	if charset == "" || charset != "utf-16be" && charset != "utf-16le" && isASCII(original) {
		d.text = string(original)
		return d, nil
	}
	var err error
	if d.encoding, err = htmlindex.Get(charset); err != nil {
		return d, fmt.Errorf("the charset %q is unknown", charset)
	}
	text, err := d.encoding.NewDecoder().Bytes(original)
	if err != nil || len(text) > ecma.MaxSource {
		return d, fmt.Errorf("the text in %q cannot be decoded to 64 MiB of UTF-8", charset)
	}
	d.text = string(text)
	return d, nil
}

func isASCII(text []byte) bool {
	return !bytes.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// encode returns the original bytes with the changes of a rewritten text. The bytes outside of
// changes are the original's. The result decodes to the rewritten text.
func (d decoded) encode(text string, spans []span) ([]byte, error) {
	if d.encoding == nil {
		return []byte(text), nil
	}
	out := bytes.NewBuffer(make([]byte, 0, len(d.original)+len(text)-len(d.text)))
	from, encoder, rest := d.encoding.NewDecoder(), d.encoding.NewEncoder(), d.original
	// next returns the bytes of the following characters that have a number of bytes in UTF-8.
	var buffer [4 << 10]byte
	next := func(length int) ([]byte, error) {
		at := 0
		for length > 0 {
			n, read, err := from.Transform(buffer[:min(length, len(buffer))], rest[at:], true)
			if n == 0 || err != nil && !errors.Is(err, transform.ErrShortDst) {
				return nil, errors.New("an insertion is inside a character")
			}
			at, length = at+read, length-n
		}
		part := rest[:at]
		rest = rest[at:]
		return part, nil
	}
	done := 0
	for _, s := range spans {
		kept, err := next(s.at - done)
		if err != nil {
			return nil, err
		}
		inserted, err := encoder.Bytes([]byte(text[s.at : s.at+s.length]))
		if err != nil {
			return nil, fmt.Errorf("an insertion cannot be written in %q", d.charset)
		}
		out.Write(kept)
		out.Write(inserted)
		if _, err := next(s.length - s.more); err != nil { // replaced
			return nil, err
		}
		done = s.at + s.length
	}
	out.Write(rest)
	if again, err := d.encoding.NewDecoder().Bytes(out.Bytes()); err != nil || string(again) != text {
		return nil, fmt.Errorf("the changed text in %q is another one", d.charset)
	}
	return out.Bytes(), nil
}
