// Package har makes the waterfall of a page's load, in the device's time. Its evidence comes from
// the network. The device needs no hooks, so it works for every browser.
//
// It combines the evidence of packages dns, link and serve.
//
//	queries, flows, connections, exchanges ──New──▶ Waterfall ──▶ HAR 1.2 (network.har) · SVG (waterfall.svg) · events
//
// A server knows each request and when it had it. The link knows when each byte was at the device's
// end. So the time at which the device had the answer is that of a packet. The number of bytes that
// the server had written before selects the packet. With QUIC, packets cannot be matched, since
// only its ends can read the streams. The time is then the server's plus the link's delay. It is a
// lower bound, and the [Moment] has the upper one.
//
// [File] and its parts are HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/). [Read] reads
// files of any program. They are untrusted.
package har
