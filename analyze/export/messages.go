package export

import (
	"context"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
)

// message is a line of exported messages.
type message struct {
	Frame  int    `json:"frame"`
	Whole  int    `json:"whole"`
	Clock  int64  `json:"clock_us"`
	Text   string `json:"text,omitempty"`
	Base64 []byte `json:"base64,omitempty"`
}

// Messages writes the messages that a page drew into the selected frames, a JSON object per line.
// It returns their number and that of lost packets. With results, it reads their windows.
func (s *Selection) Messages(ctx context.Context, w io.Writer) (messages int, lost int64, err error) {
	type part struct {
		region   frame.Region
		from, to int
	}
	var parts []part
	found, err := s.results()
	if err != nil {
		return 0, 0, err
	}
	if found != nil {
		for _, win := range found.Windows {
			p := part{from: max(s.From, win.Start), to: min(s.To, win.End+1)}
			if r := win.Region; len(r) == 4 {
				p.region = frame.Region{X: r[0], Y: r[1], Width: r[2], Height: r[3]}
			}
			if win.Channel != nil {
				parts = append(parts, p)
			}
		}
	} else {
		for _, g := range s.Segments() {
			parts = append(parts, part{from: max(s.From, g.First), to: min(s.To, g.First+g.Frames)})
		}
	}
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	for _, p := range parts {
		if p.from >= p.to {
			continue
		}
		a, err := runfolder.Messages(ctx, s.Reader, p.region, p.from, p.to)
		if err != nil {
			return messages, lost, err
		}
		if a == nil {
			continue
		}
		lost += a.Lost + a.First
		for _, m := range a.Messages {
			line := message{Frame: m.Frame, Whole: m.Whole, Clock: m.Clock}
			if utf8.Valid(m.Data) {
				line.Text = string(m.Data)
			} else {
				line.Base64 = m.Data
			}
			if err := to.Encode(line); err != nil {
				return messages, lost, err
			}
			messages++
		}
	}
	return messages, lost, nil
}
