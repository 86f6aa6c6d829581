package trend

import (
	"context"
	"path"

	"github.com/eideticker/eideticker/deploy/api"
)

// maxReleases bounds the builds among which a release is found.
const maxReleases = 1000

// Release returns the point of the newest release of a series' feed before a build. Names of
// releases match a pattern. A release without a point is replaced by the next point. Nil: there is
// none.
func (d *DB) Release(ctx context.Context, s *api.Series, pattern string, before int64) (*api.SeriesPoint, error) {
	builds, err := d.builds(ctx, s.Feed, 0, before-1, maxReleases)
	for _, b := range builds {
		if is, _ := path.Match(pattern, b.Name); !is || b.State != "usable" {
			continue
		}
		const first = "SELECT seq FROM points WHERE series = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT 1"
		seqs, err := list(ctx, d, first, []any{s.ID, max(b.Seq, 1), before}, scanOne[int64])
		if err != nil || len(seqs) == 0 {
			return nil, err
		}
		out := api.SeriesData{Series: *s}
		p := api.SeriesParams{Series: s.ID, FromSeq: seqs[0], ToSeq: seqs[0], Limit: 1}
		if err := d.page(ctx, p, &out); err != nil {
			return nil, err
		}
		return &out.Points[0], nil
	}
	return nil, err
}
