package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// raise puts confirmed changes that are in no alert into one. Changes with overlapping builds of a
// feed are one alert. A closed alert takes no new changes.
func (e *Engine) raise(ctx context.Context) error {
	if e.raised {
		return nil
	}
	all, err := e.Trends.Changes(ctx, api.ChangeListParams{State: confirmed, Limit: maxChanges})
	if err != nil {
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
			return a.Feed == s.Feed && a.State != "fixed" && a.State != "wontfix" && overlap(&x, a.FirstSeq, a.LastSeq)
		})
		if i < 0 {
			alerts = append(alerts, api.Alert{Schedule: s.Schedule, Feed: s.Feed, FirstSeq: x.FirstSeq,
				LastSeq: x.LastSeq,
				State:   "open", OpenedNS: e.Now().UnixNano()})
			i = len(alerts) - 1
		}
		a := &alerts[i]
		a.Changes = append(a.Changes, x)
		a.FirstSeq, a.LastSeq = min(a.FirstSeq, x.FirstSeq), max(a.LastSeq, x.LastSeq)
		a.Text = "" // it follows
		if a.Command == "" {
			if a.Command, err = e.command(ctx, s, &x); err != nil {
				return err
			}
		}
		if err := e.Trends.PutAlert(ctx, a); err != nil {
			return err
		}
		e.Log.Warn("alert", "alert", a.ID, "text", x.Text)
	}
	e.raised = true
	return nil
}

// command returns the command that repeats the comparison of a change.
func (e *Engine) command(ctx context.Context, s *api.Series, x *api.SeriesShift) (string, error) {
	points, err := e.Trends.Points(ctx, s.ID, x.FirstSeq, x.LastSeq, maxChanges)
	if err != nil || len(points) == 0 {
		return "", err
	}
	browser := func(p trend.Point) string {
		return api.Browser{Kind: s.Product, Feed: s.Feed, Build: p.Build}.String()
	}
	return fmt.Sprintf("eideticker run %s --device %s --browser %s --browser %s --repeat 12", quoted(s.Test),
		quoted(s.Device), browser(points[0]), browser(points[len(points)-1])), nil
}

// quoted returns a word for a shell.
func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@") == "" && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
