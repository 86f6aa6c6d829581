// Package payload reads messages of test pages from captured frames. A page draws them as packets
// into a block of pixels, above the lowest copy of the code strip.
//
// The channel needs neither network nor debugger, and works in every browser. The first frame that
// shows a packet bounds the time at which the page drew it. Lost packets are counted. The block
// never counts as content.
//
// # Geometry (normative)
//
// The region of the content has width W. cell and top(4) are those of the code strip in it.
//
//	exact  2 rows of W pixels, a row per packet. A pixel has three bytes: red, green, blue.
//	cells  4 rows of W/cell cells, two rows per packet. A white cell is a one, a black cell a zero.
//
// The block ends above row top(4) and begins at the region's left edge. Cells are read from left to
// right, the upper row first. Numbers and bytes have their most significant bit first. An exact
// packet has 3·W bytes. A packet of cells has as many whole bytes as fit. At 1280 pixels these are
// 3,840 and 40 bytes.
//
// # Packet (normative)
//
//	bytes  content
//	2      sequence number, from 0, modulo 2¹⁶
//	2      bit 15: first packet of a message; bit 14: last one; bits 13…0: bytes of data, n ≥ 1
//	4      the page's clock when it drew the packet, in microseconds, modulo 2³²
//	n      data
//	4      CRC-32 (IEEE) over all bytes before it
//
// The rest is black. Packets with even sequence numbers are in the upper half of the block, others
// in the lower half. So a frame shows the newest packet and the one before it. A message has 1 to
// 65,536 bytes. [Spec] is the same as JSON, for pages.
//
// # Ownership
//
// A [Decoder] and a [Channel] belong to one goroutine each. Frames are untrusted input: any bytes
// may come, and none may panic.
package payload
