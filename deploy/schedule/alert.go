package schedule

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// raise puts confirmed changes that are in no alert into one. Changes with overlapping builds of a
// feed are one alert. A closed alert takes no new changes. Then it begins explanations.
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
			return a.Kind == x.Kind && a.Feed == s.Feed && a.State != "fixed" && a.State != "wontfix" &&
				overlap(&x, a.FirstSeq, a.LastSeq)
		})
		if i < 0 {
			alerts = append(alerts, api.Alert{Kind: x.Kind, Schedule: s.Schedule, Feed: s.Feed,
				FirstSeq: x.FirstSeq, LastSeq: x.LastSeq, State: "open", OpenedNS: e.Now().UnixNano()})
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
		if err := e.bisectAlert(ctx, a, s, &x); err != nil {
			e.Log.Error("the bisection of an alert cannot begin", "alert", a.ID, "error", err)
		}
	}
	if err := e.beginCauses(ctx, all, alerts); err != nil {
		return err
	}
	e.raised = true
	return nil
}

// bisectAlert begins the bisection of a change over several builds. An alert has one at most.
func (e *Engine) bisectAlert(ctx context.Context, a *api.Alert, s *api.Series, x *api.SeriesShift) error {
	f := e.feeds[s.Feed]
	if e.Alarm.Bisect == 0 || f == nil || a.Kind == drift ||
		slices.ContainsFunc(e.bisections, func(b *bisection) bool { return b.Alert == a.ID }) {
		return nil
	}
	at := func(seq int64) int {
		return slices.IndexFunc(f.builds, func(b api.Build) bool { return b.Seq == seq })
	}
	good, bad := at(x.FirstSeq), at(x.LastSeq)
	if good < 0 || bad < 0 ||
		!slices.ContainsFunc(f.builds[good+1:max(good+1, bad)], func(b api.Build) bool { return b.State == usable }) {
		return nil // there is nothing to find
	}
	b, err := e.newBisection(api.BisectParams{Feed: s.Feed, Good: f.builds[good].Name, Bad: f.builds[bad].Name,
		Test: s.Test, Device: e.deviceOf(s), Browser: s.Product, Budget: e.Alarm.Bisect}, "schedule "+s.Schedule,
		fmt.Sprint("alert ", a.ID, s.Feed, x.FirstSeq, x.LastSeq), f.builds)
	if err != nil {
		return err
	}
	b.Alert, b.Key, b.Sign = a.ID, shared(keyOf(s)), math.Copysign(1, x.Shift)
	return e.submitFirst(ctx, b)
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
		quoted(e.deviceOf(s)), browser(points[0]), browser(points[len(points)-1])), nil
}

// quoted returns a word for a shell.
func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@") == "" && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
