package export

import (
	"context"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/capture/frame"
)

// FullAddresses returns the addresses of a HAR file's requests by those without their queries. An
// address with several queries is not among them.
func FullAddresses(path string) (map[string]string, error) {
	fall, err := readWaterfall(path)
	if err != nil {
		return nil, err
	}
	full := map[string]string{}
	for i := range fall.Requests {
		address := fall.Requests[i].Served.URL
		cut := activity.CutQueries(address)
		if had, ok := full[cut]; ok && had != address {
			address = cut
		}
		full[cut] = address
	}
	return full, nil
}

// ChangedIn returns the selected frames that changed a region. The recording's index of changes
// states this, so no frame is decoded. A chroma sample changes all pixels that share it.
func (s *Selection) ChangedIn(ctx context.Context, region frame.Region) (map[int]bool, error) {
	found := map[int]bool{}
	for _, g := range s.Segments() {
		changes := s.Reader.Timeline(max(s.From, g.First), min(s.To, g.First+g.Frames))
		for changes.Next() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for _, p := range changes.Change().Spans {
				x0, y0, x1, y1 := g.Layout.Rect(int(p.Row), int(p.Start), int(p.End))
				if x0 < region.X+region.Width && x1 > region.X && y0 < region.Y+region.Height && y1 > region.Y {
					found[changes.Number()] = true
					break
				}
			}
		}
		if err := changes.Err(); err != nil {
			return nil, err
		}
	}
	return found, nil
}
