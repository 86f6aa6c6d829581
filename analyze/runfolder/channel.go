package runfolder

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// probes is the number of frames of a window in which the block is searched for.
const probes = 8

// findBlock returns a decoder of the payload block in the content of frames from ≤ n < to; nil:
// they have none. An empty region is the whole frame.
func findBlock(r *recording.Reader, region frame.Region, from, to int) *payload.Decoder {
	segment, err := r.SegmentOf(from)
	if err != nil {
		return nil
	}
	for _, form := range []payload.Form{payload.Exact, payload.Cells} {
		d, err := payload.NewDecoder(segment.Layout, rectangle(region), form)
		if err != nil {
			continue // this format or region cannot have it
		}
		for i := range probes {
			img, err := r.Rows(from+(to-1-from)*i/(probes-1), d.Rows())
			if err == nil && img.Layout == segment.Layout && slices.ContainsFunc(d.Read(img)[:],
				func(s payload.Slot) bool { return s.State == payload.Good }) {
				return d
			}
		}
	}
	return nil
}

// Messages returns the account of the payload block in the content of frames from ≤ n < to; nil:
// they have none. The frames have one format. An empty region is the whole frame.
func Messages(ctx context.Context, r *recording.Reader, region frame.Region, from, to int) (*payload.Account, error) {
	d := findBlock(r, region, from, to)
	if d == nil {
		return nil, nil
	}
	return readChannel(ctx, r, d, from, to, func(int) {})
}

// readBlock takes the payload block out of a window, and reads its messages.
func (a *analysis) readBlock(ctx context.Context, w *window) error {
	d := findBlock(a.reader, w.Region, w.Start, w.End+1)
	if d == nil {
		return nil
	}
	if b := d.Bounds(); !a.KeepStrip {
		w.masks = append(w.masks, frame.Region{X: b.Min.X, Y: b.Min.Y, Width: b.Dx(), Height: b.Dy()})
	}
	advance, end := a.progress.Phase("reading the page's messages", w.End-w.Start+1)
	defer end()
	var err error
	if w.channel, err = readChannel(ctx, a.reader, d, w.Start, w.End+1, advance); err != nil {
		return err
	}
	w.described = describeChannel(d, w.channel)
	if warning := w.described.Warning(); warning != "" {
		w.warnings = append(w.warnings, warning)
	}
	return nil
}

// readChannel reads the block of frames from ≤ n < to, of those that changed in it.
func readChannel(ctx context.Context, r *recording.Reader, d *payload.Decoder, from, to int,
	advance func(frames int)) (*payload.Account, error) {
	var channel payload.Channel
	rows := d.Rows()
	first, last := int32(rows[0]), int32(rows[len(rows)-1])
	for step, err := range r.Changes(from, to) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("read the page's messages: %w", err)
		}
		advance(1)
		if step.Number > from && !slices.ContainsFunc(step.Change.Spans,
			func(s frame.Span) bool { return s.Row >= first && s.Row <= last }) {
			continue
		}
		img, err := r.Rows(step.Number, rows)
		if err != nil {
			channel.Lose(step.Number)
			continue
		}
		channel.Add(step.Number, step.Meta.Sampled, d.Read(img))
	}
	return channel.Close(), nil
}

// describeChannel returns the results of a channel.
func describeChannel(d *payload.Decoder, a *payload.Account) *result.Channel {
	c := &result.Channel{Form: string(d.Form()), PacketBytes: d.Size(), Frames: a.Frames, Packets: a.Packets,
		Bytes: a.Bytes, Lost: a.Lost, Before: a.First, Broken: a.Broken,
		BrokenFrames: a.BrokenIn[:min(len(a.BrokenIn), result.MaxChannelList)],
		Messages:     int64(len(a.Messages)) + a.LeftOut, Cut: a.Cut, Told: -1, Unsent: -1}
	for _, l := range a.Losses[:min(len(a.Losses), result.MaxChannelList)] {
		c.Losses = append(c.Losses, result.ChannelLoss(l))
	}
	for _, m := range a.Messages[:min(len(a.Messages), result.MaxChannelList)] {
		c.List = append(c.List, result.ChannelMessage{Frame: m.Frame, Whole: m.Whole, Clock: m.Clock,
			Bytes: len(m.Data), Text: beginOf(m.Data)})
	}
	return c
}

// beginOf returns the begin of a printable message.
func beginOf(data []byte) string {
	const most = 300
	if !utf8.Valid(data) || strings.ContainsFunc(string(data), unicode.IsControl) {
		return ""
	}
	end := min(len(data), most)
	for end > 0 && end < len(data) && !utf8.RuneStart(data[end]) {
		end--
	}
	return string(data[:end])
}
