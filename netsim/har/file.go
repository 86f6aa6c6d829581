package har

import (
	"encoding/json"
	"strings"
	"time"
)

// File is a HAR file. Fields are those of the specification, in its words; times are in
// milliseconds, -1 is "does not apply" or "not known".
type File struct {
	Log Log `json:"log"`
}

// Log is all there is in a file.
type Log struct {
	Version string  `json:"version"` // 1.2; 1.1 is read too
	Creator Program `json:"creator"`
	Browser Program `json:"browser,omitzero"`
	Pages   []Page  `json:"pages,omitempty"`
	Entries []Entry `json:"entries"`
	Comment string  `json:"comment,omitempty"`

	// Ours.
	Names     []NameAsked `json:"_names,omitempty"`     // that were asked for, in their order
	Recording ID          `json:"_recording,omitempty"` // on whose clock times are; left out: on none's that is known
}

// ID is a recording's: hexadecimal digits, in small letters. What a file of others has in its place
// is taken for none.
type ID string

// maxID is more digits than any has.
const maxID = 64

// UnmarshalJSON reads an unknown value as "".
func (id *ID) UnmarshalJSON(b []byte) error {
	*id = ""
	var text string
	if len(b) > maxID+len(`""`) || json.Unmarshal(b, &text) != nil || strings.Trim(text, "0123456789abcdef") != "" {
		return nil
	}
	*id = ID(text)
	return nil
}

// Program is one that had to do with a file.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Comment string `json:"comment,omitempty"`
}

// Page is one that was loaded.
type Page struct {
	Started time.Time   `json:"startedDateTime"`
	ID      string      `json:"id"`
	Title   string      `json:"title"`
	Timings PageTimings `json:"pageTimings"`
	Comment string      `json:"comment,omitempty"`
}

// PageTimings count from a page's start. The first two are what a page says of itself, and nobody
// asks it here.
type PageTimings struct {
	OnContentLoad float64 `json:"onContentLoad"`
	OnLoad        float64 `json:"onLoad"`
	// StartRender and LastChange are ours, from pixels: when anything of the page was first seen,
	// and when it changed for the last time.
	StartRender *float64 `json:"_startRender,omitempty"`
	LastChange  *float64 `json:"_lastChange,omitempty"`
	Comment     string   `json:"comment,omitempty"`
}

// Entry is a request and its response.
type Entry struct {
	Page       string       `json:"pageref,omitempty"`
	Started    time.Time    `json:"startedDateTime"`
	Time       float64      `json:"time"`
	Request    RequestMade  `json:"request"`
	Response   ResponseMade `json:"response"`
	Cache      Cache        `json:"cache"`
	Timings    Timings      `json:"timings"`
	ServerIP   string       `json:"serverIPAddress,omitempty"`
	Connection string       `json:"connection,omitempty"`
	Comment    string       `json:"comment,omitempty"`

	// Ours.
	Priority string  `json:"_priority,omitempty"` // as the field of RFC 9218 has it
	Protocol string  `json:"_protocol,omitempty"` // http/1.1, h2, h3
	TLS      string  `json:"_tls,omitempty"`
	Reused   *bool   `json:"_connectionReused,omitempty"`
	Clock    int64   `json:"_started_ns,omitempty"` // Started on the recording's clock
	Moments  Moments `json:"_moments,omitzero"`
	// of the response as they came over the connection, head and TLS included
	WireBytes *int64 `json:"_wireBytes,omitempty"`
	Error     string `json:"_error,omitempty"`
	// Client and Server are the ends of the connection. The response is the bytes From to To of what
	// the server sent over it; 0: unknown.
	Client string `json:"_client,omitempty"`
	Server string `json:"_server,omitempty"`
	From   int64  `json:"_from,omitempty"`
	To     int64  `json:"_to,omitempty"`
}

// Cache has the state before and after. It is always empty here.
type Cache struct{}

// Moments are those of a [Request]; what nobody saw is left out.
type Moments struct {
	NameFrom    Instant `json:"name_from,omitzero"`
	NameTo      Instant `json:"name_to,omitzero"`
	ConnectFrom Instant `json:"connect_from,omitzero"`
	ConnectTo   Instant `json:"connect_to,omitzero"`
	TLSFrom     Instant `json:"tls_from,omitzero"`
	TLSTo       Instant `json:"tls_to,omitzero"`
	Sent        Instant `json:"sent,omitzero"`
	FirstByte   Instant `json:"first_byte,omitzero"`
	Ended       Instant `json:"ended,omitzero"`
}

// Instant is a [Moment] in a file: times on the recording's clock.
type Instant struct {
	At       int64   `json:"at_ns"`
	Earliest int64   `json:"earliest_ns"`
	Latest   *int64  `json:"latest_ns"` // null: nothing bounds it
	By       Witness `json:"by"`
}

// NameAsked is a name that the device asked for.
type NameAsked struct {
	Name   string  `json:"name"`
	Type   string  `json:"type"`
	Result string  `json:"result"` // answered, refused, dropped
	Sent   Instant `json:"sent"`
	Had    Instant `json:"had,omitzero"` // left out: no answer came
}

// RequestMade is a request.
type RequestMade struct {
	Method      string   `json:"method"`
	URL         string   `json:"url"`
	Version     string   `json:"httpVersion"`
	Cookies     []Cookie `json:"cookies"`
	Headers     []Pair   `json:"headers"`
	Query       []Pair   `json:"queryString"`
	Body        *Body    `json:"postData,omitempty"`
	HeadersSize int64    `json:"headersSize"` // bytes
	BodySize    int64    `json:"bodySize"`
	Comment     string   `json:"comment,omitempty"`
}

// ResponseMade is a response.
type ResponseMade struct {
	Status      int      `json:"status"`
	StatusText  string   `json:"statusText"`
	Version     string   `json:"httpVersion"`
	Cookies     []Cookie `json:"cookies"`
	Headers     []Pair   `json:"headers"`
	Content     Content  `json:"content"`
	RedirectURL string   `json:"redirectURL"`
	HeadersSize int64    `json:"headersSize"` // bytes
	BodySize    int64    `json:"bodySize"`    // as it came, packed if it was
	Comment     string   `json:"comment,omitempty"`

	TransferSize *int64 `json:"_transferSize,omitempty"` // of Chromium: all bytes of it on the wire
}

// Cookie is one of a request or response.
type Cookie struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Path     string `json:"path,omitempty"`
	Domain   string `json:"domain,omitempty"`
	Expires  string `json:"expires,omitempty"`
	HTTPOnly bool   `json:"httpOnly,omitempty"`
	Secure   bool   `json:"secure,omitempty"`
	Comment  string `json:"comment,omitempty"`
}

// Pair is a header field, or a part of a query.
type Pair struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Comment string `json:"comment,omitempty"`
}

// Body is what a request sends: either text or parameters of a form.
type Body struct {
	MIMEType string  `json:"mimeType"`
	Params   []Param `json:"params,omitempty"`
	Text     string  `json:"text"`
	Encoding string  `json:"encoding,omitempty"` // base64, which the specification knows of responses only
	Comment  string  `json:"comment,omitempty"`
}

// Param is one of a form.
type Param struct {
	Name        string `json:"name"`
	Value       string `json:"value,omitempty"`
	FileName    string `json:"fileName,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	Comment     string `json:"comment,omitempty"`
}

// Content is the body of a response.
type Content struct {
	Size        int64  `json:"size"`                  // bytes, unpacked
	Compression int64  `json:"compression,omitempty"` // bytes that packing saved
	MIMEType    string `json:"mimeType"`
	Text        string `json:"text,omitempty"`
	Encoding    string `json:"encoding,omitempty"` // of Text: base64, or as it is
	Comment     string `json:"comment,omitempty"`
}

// Timings are the parts of an entry's time, in ms: all that are not -1 add up to it, but for TLS,
// which is within Connect.
type Timings struct {
	Blocked float64 `json:"blocked"`
	DNS     float64 `json:"dns"`
	Connect float64 `json:"connect"`
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
	SSL     float64 `json:"ssl"`
	Comment string  `json:"comment,omitempty"`
}

// UnmarshalJSON reads a missing value as not applicable.
func (t *Timings) UnmarshalJSON(b []byte) error {
	type plain Timings
	p := plain{Blocked: -1, DNS: -1, Connect: -1, Send: -1, Wait: -1, Receive: -1, SSL: -1}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*t = Timings(p)
	return nil
}
