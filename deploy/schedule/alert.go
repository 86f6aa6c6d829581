package schedule

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/deploy/api"
)

// maxShown bounds the builds of an alert.
const maxShown = 100

// raise puts confirmed changes that are in no alert into one. Changes with overlapping builds of a
// feed are one alert.
func (e *Engine) raise(ctx context.Context) error {
	all, err := e.Trends.Changes(ctx, api.ChangeListParams{State: confirmed, Limit: maxChanges})
	if err != nil || len(all) == 0 {
		return err
	}
	alerts, err := e.Trends.Alerts(ctx, api.AlertListParams{Limit: maxChanges})
	if err != nil {
		return err
	}
	raised := map[int64]bool{}
	for _, a := range alerts {
		for _, x := range a.Changes {
			raised[x.ID] = true
		}
	}
	for _, x := range slices.Backward(all) { // oldest first
		if raised[x.ID] {
			continue
		}
		data, err := e.Trends.Get(ctx, api.SeriesParams{Series: x.Series, Limit: 1})
		if err != nil {
			return err
		}
		s := &data.Series
		i := slices.IndexFunc(alerts, func(a api.Alert) bool {
			return a.Feed == s.Feed && overlap(&x, a.FirstSeq, a.LastSeq)
		})
		if i < 0 {
			alerts = append(alerts, api.Alert{Schedule: s.Schedule, Feed: s.Feed, FirstSeq: x.FirstSeq, LastSeq: x.LastSeq,
				State: "open", OpenedNS: e.Now().UnixNano()})
			i = len(alerts) - 1
		}
		a := &alerts[i]
		a.Changes = append(a.Changes, x)
		slices.SortStableFunc(a.Changes, func(x, y api.SeriesShift) int {
			return cmp.Or(cmp.Compare(rank(y.Direction), rank(x.Direction)),
				cmp.Compare(math.Abs(y.Shift), math.Abs(x.Shift)))
		})
		a.FirstSeq, a.LastSeq = min(a.FirstSeq, x.FirstSeq), max(a.LastSeq, x.LastSeq)
		if err := e.describe(ctx, a, s, &x); err != nil {
			return err
		}
		if err := e.Trends.PutAlert(ctx, a); err != nil {
			return err
		}
		e.Log.Warn("alert", "alert", a.ID, "text", a.Text)
	}
	return nil
}

// rank orders directions: the worst is the greatest.
func rank(direction string) int {
	return slices.Index([]string{"better", "changed", "worse"}, direction)
}

// describe fills in an alert's builds, sentence and command. s is the series of the change x, the
// newest one of the alert.
func (e *Engine) describe(ctx context.Context, a *api.Alert, s *api.Series, x *api.SeriesShift) error {
	builds, err := e.Trends.Builds(ctx, a.Feed, maxChanges)
	if err != nil {
		return err
	}
	a.Builds = []api.Build{}
	names := map[int64]string{}
	for _, b := range slices.Backward(builds) {
		names[b.Seq] = b.Name
		if b.Seq > a.FirstSeq && b.Seq <= a.LastSeq && len(a.Builds) < maxShown {
			a.Builds = append(a.Builds, b)
		}
	}
	a.Text = a.Changes[0].Text
	if n := len(a.Changes) - 1; n > 0 {
		a.Text = sentence("%s, and %d more", a.Text, n)
	}
	if a.Changes[0].ID == x.ID {
		browser := func(seq int64) string {
			return api.Browser{Kind: s.Product, Feed: s.Feed, Build: names[seq]}.String()
		}
		a.Command = fmt.Sprintf("eideticker run %s --device %s --browser %s --browser %s --repeat 12", quoted(s.Test),
			quoted(s.Device), browser(x.FirstSeq), browser(x.LastSeq))
	}
	return nil
}

// quoted returns a word for a shell.
func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@") == "" && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
