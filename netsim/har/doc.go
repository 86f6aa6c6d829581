// Package har is the waterfall of a page's loading, in the device's time, made of what those on its
// way have seen: nothing is hooked in the device, so it is there for every browser.
//
// Place in the flow: behind packages dns, link and serve, whose evidence it puts together, and
// before whoever shows it.
//
//	queries, flows, connections, exchanges ──New──▶ Waterfall ──▶ HAR 1.2 (network.har) · SVG (waterfall.svg) · events
//
// A server knows what was asked and when it had it; the line knows when each byte was at the
// device's end. So the time at which the device had the answer is that of a packet, found by how
// many bytes the server had written before. Where no packet tells, as with QUIC, whose streams
// nobody but its ends can read, the time is the server's and the line's delay: no earlier than
// that, and as late as the bounds of the [Moment] say.
//
// [File] and what it holds are HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/). [Read]
// takes files of anybody, and takes them for hostile.
package har
