package trend

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
)

// removed is a set or a run whose points a person removed.
type removed struct {
	Name   string `json:"name"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	WallNS int64  `json:"wall_ns"`
}

const maxRemoveReason = 200

// Remove removes the points of a rig, a set or a run. The journal keeps that, so they are not added
// again. It returns the number of points that changed.
func (d *DB) Remove(ctx context.Context, by string, p api.PointRemove) (points int, err error) {
	if (p.Rig == "") == (p.Set == "") || len(p.Reason) > maxRemoveReason || len(p.Rig+p.Set) > maxText {
		return 0, api.Errorf(api.InvalidParams, "give a rig or a set, and a reason of at most %d bytes",
			maxRemoveReason)
	}
	set, _, ofRun := strings.Cut(p.Set, "~")
	err = d.update(ctx, func(w *writer) error {
		points = 0
		ids := map[string]int64{}
		err := w.each(`SELECT id, name FROM sets WHERE name = ?1
			OR ?2 <> '' AND substr(name, 1, length(?2) + 1) = ?2||'/'`,
			[]any{set, p.Rig}, func(scan func(...any) error) error {
				var id int64
				var name string
				err := scan(&id, &name)
				ids[name] = id
				return err
			})
		if err == nil && len(ids) == 0 {
			err = api.Errorf(api.NotFound, "%.80q has no points", p.Rig+p.Set)
		}
		touched := places{}
		for name, id := range ids {
			r := removed{Name: name, By: by, Reason: p.Reason, WallNS: time.Now().UnixNano()}
			if ofRun {
				r.Name = p.Set
			}
			if err == nil {
				err = w.put("removed", r, line{Removed: &r})
			}
			if err == nil {
				err = w.removeRuns(name, id, &r, touched)
			}
		}
		for _, seqs := range touched {
			points += len(seqs)
		}
		if err == nil && points == 0 {
			err = api.Errorf(api.NotFound, "%.80q has no points", p.Rig+p.Set)
		}
		if err != nil {
			return err
		}
		return w.touch(touched)
	})
	if err != nil {
		return 0, err
	}
	return points, nil
}

// removeRuns removes the runs of a set, or one of them. A build whose runs are all removed has a
// gap.
func (w *writer) removeRuns(set string, id int64, r *removed, touched places) error {
	type row struct {
		series, seq        int64
		build, runs        string
		schedule, test, on string
		role               string
	}
	var rows []row
	err := w.each(`SELECT series, seq, build, runs, schedule, test, device, role FROM points
		JOIN series ON series.id = series WHERE set_id = ?`, []any{id}, func(scan func(...any) error) error {
		var o row
		err := scan(&o.series, &o.seq, &o.build, &o.runs, &o.schedule, &o.test, &o.on, &o.role)
		rows = append(rows, o)
		return err
	})
	why := "its runs were removed by " + r.By
	if r.Reason != "" {
		why += ": " + r.Reason
	}
	gaps := map[Gap]bool{} // of all series of a test one, with the subject's build
	build := func(of *row) string {
		i := slices.IndexFunc(rows, func(o row) bool {
			return o.role == Subject && o.schedule == of.schedule && o.test == of.test && o.on == of.on &&
				o.seq == of.seq
		})
		if i < 0 {
			return of.build
		}
		return rows[i].build
	}
	for _, o := range rows {
		var runs []storedRun
		if err == nil {
			err = json.Unmarshal([]byte(o.runs), &runs)
		}
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(runs), func(one storedRun) bool {
			return r.Name == set || runID(set, one.Run) == r.Name
		})
		if len(left) == len(runs) {
			continue
		}
		touched.add(o.series, o.seq)
		if len(left) == 0 {
			g := Gap{Schedule: o.schedule, Test: o.test, Device: o.on,
				SeriesGap: api.SeriesGap{Seq: o.seq, Build: build(&o), Reason: why}}
			if !gaps[g] {
				gaps[g], err = true, w.putGap(&g)
			}
			if err == nil {
				err = w.exec("DELETE FROM points WHERE series = ? AND seq = ? AND set_id = ?", o.series, o.seq, id)
			}
			continue
		}
		var raw []byte
		if raw, err = json.Marshal(left); err == nil {
			err = w.exec("UPDATE points SET runs = ? WHERE series = ? AND seq = ? AND set_id = ?", string(raw),
				o.series, o.seq, id)
		}
	}
	return err
}
