package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// Alerts are those that a person has to look at, and the changes that may become alerts.
type Alerts struct {
	api.AlertList
	Changes []api.SeriesShift `json:"changes"`
}

// OpenAlerts gets the alerts of a rig that are not closed, and the changes that are not decided.
func OpenAlerts(ctx context.Context, rig *client.Client) (*Alerts, error) {
	all := new(Alerts)
	if err := rig.Call(ctx, "alert.list", api.AlertListParams{Limit: 1000}, &all.AlertList); err != nil {
		return nil, err
	}
	all.Alerts = slices.DeleteFunc(all.Alerts, func(a api.Alert) bool {
		return a.State != "open" && a.State != "acknowledged"
	})
	for _, state := range []string{"confirming", "candidate", "undecided"} {
		var found api.ChangeList
		if err := rig.Call(ctx, "change.list", api.ChangeListParams{State: state, Limit: 1000}, &found); err != nil {
			return nil, err
		}
		all.Changes = append(all.Changes, found.Changes...)
	}
	return all, nil
}

// CauseTexts returns the causes of changes, each once with the numbers of its changes.
func CauseTexts(all []api.SeriesShift) (out []string) {
	all = slices.SortedFunc(slices.Values(all), func(a, b api.SeriesShift) int { return cmp.Compare(a.ID, b.ID) })
	numbers := map[string][]string{}
	for _, x := range all {
		if x.Explaining {
			x.Cause = "runs with measuring code search the cause"
		}
		if x.Cause == "" {
			continue
		}
		if numbers[x.Cause] == nil {
			out = append(out, x.Cause)
		}
		numbers[x.Cause] = append(numbers[x.Cause], fmt.Sprint(x.ID))
	}
	for i, cause := range out {
		name := "change "
		if len(numbers[cause]) > 1 {
			name = "changes "
		}
		out[i] = name + wording.Few(numbers[cause]) + ": " + cause
	}
	return out
}

// maxListed bounds the builds that are looked at, as series.get has tiles of more.
const maxListed = 2000

// Points gets the newest points of a schedule, at most limit of each test and device. All values of
// a test have the same sets, so the value with the newest build stands for them. "" means any test.
func Points(ctx context.Context, rig *client.Client, schedule, test string, limit int) ([]api.SeriesData, error) {
	var list api.SeriesList
	err := rig.Call(ctx, "series.list", api.SeriesListParams{Schedule: schedule, Test: test, Role: "subject",
		Limit: 1000}, &list)
	if err == nil && len(list.Series) == 0 {
		err = errors.New("it has no points")
	}
	if err != nil {
		return nil, err
	}
	type place struct{ test, device string }
	newest := map[place]api.Series{}
	for _, one := range list.Series {
		at := place{one.Test, one.Device}
		if known, is := newest[at]; !is || one.LastSeq > known.LastSeq {
			newest[at] = one
		}
	}
	shown := []api.SeriesData{}
	for _, one := range list.Series {
		if newest[place{one.Test, one.Device}].ID != one.ID {
			continue
		}
		var data api.SeriesData
		if err := rig.Call(ctx, "series.get", api.SeriesParams{Series: one.ID,
			FromSeq: max(0, one.LastSeq-maxListed+1), Limit: maxListed}, &data); err != nil {
			return nil, err
		}
		data.Points = data.Points[max(0, len(data.Points)-limit):]
		shown = append(shown, data)
	}
	return shown, nil
}
