package serve

import (
	"net/http"
	"net/netip"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Connection is what the server saw of one, TCP or QUIC. Times are those of this side of the link,
// on the rig's clock (CLOCK_MONOTONIC); 0: it has not happened, or not yet.
type Connection struct {
	ID       int    // from 1, in the order in which they came
	Network  string // tcp or udp
	Client   netip.AddrPort
	Server   netip.AddrPort
	Accepted timeline.Time // the handshake of TCP was over; the first packet of QUIC was there
	Hello    timeline.Time // the first byte of TLS was there
	Secured  timeline.Time // TLS was agreed on
	Closed   timeline.Time
	TLS      string // version, such as TLS 1.3; "": none
	Resumed  bool   // TLS began where another connection had ended
	Protocol string // of HTTP: http/1.1, h2, h3
	Name     string // that TLS asked for (SNI)
	// of all requests, as they came over the connection, TLS included; headers of TCP, UDP and IP
	// are not
	BytesIn  int64
	BytesOut int64
	Error    string // why it ended, if not as it should
}

// Exchange is one request and its response. Times are as of [Connection].
type Exchange struct {
	ID         int   // from 1, in the order in which requests began
	Connection int   // its ID
	Stream     int64 // of HTTP/2 and HTTP/3; of HTTP/1.1 the how many-th of its connection, from 1

	Method      string
	URL         string      // with scheme and host
	Header      http.Header // of the request
	Pushed      bool
	Urgency     int // 0 (most urgent) to 7 (RFC 9218), from the field Priority; 3 by default
	Incremental bool

	Status         int
	ResponseHeader http.Header

	Began     timeline.Time // the head of the request was there
	Received  timeline.Time // all of the request was there
	FirstByte timeline.Time // the head of the response was written
	Ended     timeline.Time // the last byte of the response was written, or it was given up

	RequestBytes  int64 // of the body, as it came
	ResponseBytes int64 // of the body, as it was sent: packed, if it was
	DecodedBytes  int64 // of the body, as the page sees it

	// From and To are which bytes of what a TCP connection sent are this response: offsets into all
	// that was written to the connection, TLS included. With them, and with what the link has seen,
	// it is known when the device had them. 0, 0: not known, as of QUIC. Responses of HTTP/2 that
	// come at once share bytes: from the first of one to the last.
	From, To int64

	Error string // why the response is not whole
}
