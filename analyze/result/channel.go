package result

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/wording"
)

// MaxChannelList is the greatest number of entries in each list of a [Channel].
const MaxChannelList = 1000

// Channel is the account of messages that a page drew into its frames.
type Channel struct {
	Form        string `json:"form"` // exact or cells
	PacketBytes int    `json:"packet_bytes"`
	Frames      int    `json:"frames"` // that show a packet
	Packets     int64  `json:"packets"`
	Bytes       int64  `json:"bytes"` // of their data
	// Lost are packets between others that no frame shows whole. Before are those that the page drew
	// before the first one that was seen.
	Lost   int64         `json:"packets_lost"`
	Before int64         `json:"packets_before"`
	Losses []ChannelLoss `json:"losses"` // the first ones
	// Broken are packets of frames whose CRC fails. Other frames may show them whole.
	Broken       int64 `json:"packets_broken"`
	BrokenFrames []int `json:"broken_frames"` // the first ones
	Messages     int64 `json:"messages"`      // that arrived whole
	Cut          int64 `json:"messages_cut"`  // that lack a packet
	// Told are messages that the page queued, and Unsent those that it did not draw whole. Both are
	// its own count; -1: unknown.
	Told   int64            `json:"messages_told"`
	Unsent int64            `json:"messages_unsent"`
	List   []ChannelMessage `json:"list"` // the first messages
	Text   string           `json:"text"` // all in words
}

// ChannelLoss is a run of lost packets.
type ChannelLoss struct {
	Before  int   `json:"before_frame"` // shows the packet behind them
	Packets int64 `json:"packets"`
}

// ChannelMessage is a message of a page.
type ChannelMessage struct {
	Frame int   `json:"frame"`    // the first one that shows a part of it
	Whole int   `json:"whole"`    // the first one by which all parts were seen
	Clock int64 `json:"clock_us"` // of the page when it drew the first part
	Bytes int   `json:"bytes"`
	// Text is the begin of a message of printable UTF-8; empty: it is something else.
	Text string `json:"text"`
}

func (c *Channel) fill() {
	c.Text = fmt.Sprintf("The page sent %s in %s inside the picture; ", wording.Plural(c.Messages, "message"),
		wording.Plural(c.Packets, "packet"))
	if warning := c.Warning(); warning != "" {
		c.Text += warning
	} else {
		c.Text += "all packets arrived"
	}
}

// Warning states the losses; empty: none.
func (c *Channel) Warning() string {
	lost := c.Lost + c.Before
	if lost == 0 && c.Cut == 0 {
		return ""
	}
	return fmt.Sprintf("lost packets of the page: %s; incomplete messages: %s", wording.Count(lost),
		wording.Count(c.Cut))
}
