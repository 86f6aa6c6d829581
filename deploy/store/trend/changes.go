package trend

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/database"
)

// Dismissed is the state of changes that a person has dismissed.
const Dismissed = "dismissed"

func changeStates() []string {
	return []string{"candidate", "confirming", "confirmed", "refuted", "undecided", "lab", Dismissed}
}

func alertStates() []string { return []string{"open", "acknowledged", "fixed", "wontfix"} }

const (
	maxReason       = 300
	maxNote         = 1000
	maxAlertChanges = 1000
	maxAlertBuilds  = 100
)

func checkState(state string, known []string) error {
	if !slices.Contains(known, state) {
		return api.Errorf(api.InvalidParams, "state is %.40q: must be one of %s", state, strings.Join(known, ", "))
	}
	return nil
}

func checkChange(c *api.SeriesShift) error {
	if c.FirstSeq < 0 || c.LastSeq < c.FirstSeq || c.LastSeq > maxSeq {
		return fmt.Errorf("change from build %d to %d: must rise", c.FirstSeq, c.LastSeq)
	}
	for _, v := range []float64{c.Shift, c.Low, c.High, c.P} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("a number of the change is not finite")
		}
	}
	return errors.Join(checkState(c.State, changeStates()), checkTexts(c.Reason, c.Direction, c.Set, c.Kind, c.Cause))
}

// PutChange adds a change and sets its ID, which is 0, or updates one. A dismissed change stays so:
// then it returns an api.Error with code Conflict.
func (d *DB) PutChange(ctx context.Context, c *api.SeriesShift) error {
	if err := checkChange(c); err != nil {
		return fmt.Errorf("put change: %w", err)
	}
	return d.update(ctx, func(w *writer) error {
		if c.ID == 0 {
			return w.putChange(c)
		}
		old, err := content[api.SeriesShift](w, "change", c.ID)
		if err == nil && old.State == Dismissed && c.State != Dismissed {
			return api.Errorf(api.Conflict, "change %d was dismissed", c.ID)
		}
		if err != nil {
			return err
		}
		return w.putChange(c)
	})
}

// content reads a row whose content is JSON, by its ID.
func content[T any](w *writer, table string, id int64) (one T, err error) {
	there := false
	err = w.each("SELECT content FROM "+table+"s WHERE id = ?", []any{id}, func(scan func(...any) error) (err error) {
		there = true
		one, err = scanContent[T](scan)
		return err
	})
	if err == nil && !there {
		err = api.Errorf(api.NotFound, "unknown %s %d", table, id)
	}
	return one, err
}

// nextID sets that of a new row.
func (w *writer) nextID(table string, id *int64) error {
	if *id != 0 {
		return nil
	}
	return w.get("SELECT coalesce(max(id), 0) + 1 FROM "+table, nil, id)
}

func (w *writer) putChange(c *api.SeriesShift) error {
	var key string
	err := w.get("SELECT key FROM series WHERE id = ?", []any{c.Series}, &key)
	if errors.Is(err, sql.ErrNoRows) {
		return api.Errorf(api.NotFound, "unknown series %d", c.Series)
	}
	var of SeriesKey
	if err == nil {
		err = json.Unmarshal([]byte(key), &of)
	}
	if err == nil {
		err = w.nextID("changes", &c.ID)
	}
	if err != nil {
		return err
	}
	kept := *c
	kept.Text = "" // is made when it is read
	return w.put("changes", &kept, line{Change: &kept, Of: &of})
}

// Change returns one change.
func (d *DB) Change(ctx context.Context, id int64) (api.SeriesShift, error) {
	all, err := d.changes(ctx, "WHERE id = ?", id)
	if err == nil && len(all) == 0 {
		err = api.Errorf(api.NotFound, "unknown change %d", id)
	}
	if err != nil {
		return api.SeriesShift{}, err
	}
	return all[0], nil
}

// Changes lists changes, newest first. Of many candidates it leaves out drifts first.
func (d *DB) Changes(ctx context.Context, p api.ChangeListParams) ([]api.SeriesShift, error) {
	limit, err := limited(p.Limit, usualList, maxList)
	if err == nil && p.State != "" {
		err = checkState(p.State, changeStates())
	}
	if err != nil {
		return nil, err
	}
	where, args := "WHERE id > 0", []any{}
	if p.Series != 0 {
		where, args = where+" AND series = ?", append(args, p.Series)
	}
	if p.State != "" {
		where, args = where+" AND state = ?", append(args, p.State)
	}
	order := " ORDER BY "
	if p.State == "candidate" { // drifts are found again if they wait, so others come first
		order += "content->>'kind' IS NOT NULL, "
	}
	return d.changes(ctx, where+order+"id DESC LIMIT ?", append(args, limit)...)
}

// changes returns changes with their texts.
func (d *DB) changes(ctx context.Context, where string, args ...any) ([]api.SeriesShift, error) {
	return list(ctx, d, "SELECT content, s.key, "+
		"coalesce((SELECT build FROM points WHERE series = s.id AND seq = c.last LIMIT 1), ''), "+
		"coalesce((SELECT build FROM points WHERE series = s.id AND seq = c.first LIMIT 1), ''), "+
		"EXISTS (SELECT 1 FROM builds WHERE feed = s.feed AND seq > c.first AND seq < c.last) "+
		"FROM (SELECT * FROM changes "+where+") c JOIN series s ON s.id = c.series ORDER BY c.id DESC", args,
		func(scan func(...any) error) (c api.SeriesShift, err error) {
			var raw, key string
			var r shiftRange
			var k SeriesKey
			if err := scan(&raw, &key, &r.last, &r.first, &r.wide); err != nil {
				return c, err
			}
			if err := errors.Join(json.Unmarshal([]byte(raw), &c), json.Unmarshal([]byte(key), &k)); err != nil {
				return c, fmt.Errorf("%w: change: %w", database.ErrDamaged, err)
			}
			c.Text = sentence(&c, &k, r)
			return c, nil
		})
}

// shiftRange has the builds around a change. It is wide if its feed has builds between them.
type shiftRange struct {
	first, last string
	wide        bool
}

func (r shiftRange) text(c *api.SeriesShift) string {
	first := cmp.Or(r.first, fmt.Sprintf("number %d", c.FirstSeq))
	last := cmp.Or(r.last, fmt.Sprintf("number %d", c.LastSeq))
	switch {
	case c.Kind != "":
		return "from build " + first + " to " + last
	case r.wide:
		return "after build " + first + ", by build " + last
	}
	return "since build " + last
}

// sentence describes a change: "fps.framerate of scene on local: 12 % lower since build 7 (worse)".
func sentence(c *api.SeriesShift, k *SeriesKey, r shiftRange) string {
	amount := func(v float64) string {
		unit := k.Unit
		if c.Relative {
			unit = "fraction"
		}
		return wording.Measured{Value: round(v, 3), Unit: unit}.Text()
	}
	where := k.Test + " on " + k.Device
	if k.Window != "" {
		where = k.Window + " of " + where
	}
	if k.Network != "" {
		where += " with " + k.Network
	}
	way := "higher"
	if c.Shift < 0 {
		way = "lower"
	}
	text := fmt.Sprintf("%s.%s of %s: %s %s %s", k.Measure, k.Value, where, amount(math.Abs(c.Shift)), way,
		r.text(c))
	var more []string
	if c.Kind != "" {
		more = append(more, c.Kind)
	}
	if c.Direction == "worse" || c.Direction == "better" {
		more = append(more, c.Direction)
	}
	if c.Low < c.High {
		more = append(more, "interval "+amount(c.Low)+" to "+amount(c.High))
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// round keeps some figures.
func round(v float64, figures int) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, float64(figures)-math.Ceil(math.Log10(math.Abs(v))))
	if r := math.Round(v*scale) / scale; !math.IsNaN(r) && !math.IsInf(r, 0) {
		return r
	}
	return v
}

// Dismiss marks a change as uninteresting.
func (d *DB) Dismiss(ctx context.Context, p api.ChangeID) (api.SeriesShift, error) {
	if len(p.Reason) > maxReason {
		return api.SeriesShift{}, api.Errorf(api.InvalidParams, "reason has over %d bytes", maxReason)
	}
	err := d.update(ctx, func(w *writer) error {
		c, err := content[api.SeriesShift](w, "change", p.Change)
		if err != nil {
			return err
		}
		c.State, c.Reason, c.Explaining = Dismissed, p.Reason, false
		return w.putChange(&c)
	})
	if err != nil {
		return api.SeriesShift{}, err
	}
	return d.Change(ctx, p.Change)
}

func checkAlert(a *api.Alert) error {
	if a.FirstSeq < 0 || a.LastSeq < a.FirstSeq || a.LastSeq > maxSeq || len(a.Changes) > maxAlertChanges {
		return fmt.Errorf("alert from build %d to %d with %d changes: must rise and have at most %d", a.FirstSeq,
			a.LastSeq, len(a.Changes), maxAlertChanges)
	}
	if len(a.Note) > maxNote || len(a.Command) > maxNote || len(a.Text) > maxNote {
		return fmt.Errorf("the alert has a text of over %d bytes", maxNote)
	}
	return errors.Join(checkState(a.State, alertStates()), checkTexts(a.Schedule, a.Feed, a.Owner, a.Kind))
}

// PutAlert adds an alert and sets its ID, which is 0, or updates one. Of its changes it keeps the
// IDs. State, owner and note of an existing alert belong to people and stay.
func (d *DB) PutAlert(ctx context.Context, a *api.Alert) error {
	if err := checkAlert(a); err != nil {
		return fmt.Errorf("put alert: %w", err)
	}
	return d.update(ctx, func(w *writer) error {
		if a.ID != 0 {
			old, err := content[api.Alert](w, "alert", a.ID)
			if err != nil {
				return err
			}
			a.State, a.Owner, a.Note, a.OpenedNS = old.State, old.Owner, old.Note, old.OpenedNS
		}
		return w.putAlert(a)
	})
}

func (w *writer) putAlert(a *api.Alert) error {
	if err := w.nextID("alerts", &a.ID); err != nil {
		return err
	}
	kept := *a
	kept.Builds, kept.Changes = nil, nil
	for _, c := range a.Changes {
		kept.Changes = append(kept.Changes, api.SeriesShift{ID: c.ID})
	}
	return w.put("alerts", &kept, line{Alert: &kept})
}

// Alerts lists alerts, newest first.
func (d *DB) Alerts(ctx context.Context, p api.AlertListParams) ([]api.Alert, error) {
	limit, err := limited(p.Limit, usualList, maxList)
	if err != nil {
		return nil, err
	}
	if p.State == "" {
		return d.alerts(ctx, "ORDER BY id DESC LIMIT ?", limit)
	}
	if err := checkState(p.State, alertStates()); err != nil {
		return nil, err
	}
	return d.alerts(ctx, "WHERE state = ? ORDER BY id DESC LIMIT ?", p.State, limit)
}

func (d *DB) alerts(ctx context.Context, where string, args ...any) ([]api.Alert, error) {
	all, err := list(ctx, d, "SELECT content FROM alerts "+where, args, scanContent[api.Alert])
	for i := range all {
		if err == nil {
			err = d.complete(ctx, &all[i])
		}
	}
	return all, err
}

// complete adds the changes of an alert, its builds and its sentence.
func (d *DB) complete(ctx context.Context, a *api.Alert) (err error) {
	ids := []int64{}
	for _, c := range a.Changes {
		ids = append(ids, c.ID)
	}
	raw, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	if a.Changes, err = d.changes(ctx, "WHERE id IN (SELECT value FROM json_each(?))", string(raw)); err != nil {
		return err
	}
	rank := func(c api.SeriesShift) int { return slices.Index([]string{"worse", "changed", "better"}, c.Direction) }
	slices.SortStableFunc(a.Changes, func(x, y api.SeriesShift) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(math.Abs(y.Shift), math.Abs(x.Shift)))
	})
	if a.Builds, err = d.builds(ctx, a.Feed, a.FirstSeq, a.LastSeq, maxAlertBuilds); err != nil || a.Text != "" {
		return err
	}
	if len(a.Changes) > 0 {
		a.Text = a.Changes[0].Text
	}
	if more := len(a.Changes) - 1; more > 0 {
		a.Text += fmt.Sprintf("; %s in this range", wording.Plural(more, "more change"))
	}
	return nil
}

// SetAlert changes what people say of an alert.
func (d *DB) SetAlert(ctx context.Context, p api.AlertParams) (api.Alert, error) {
	err := d.update(ctx, func(w *writer) error {
		a, err := content[api.Alert](w, "alert", p.Alert)
		if err != nil {
			return err
		}
		if p.State != "" {
			if err := checkState(p.State, alertStates()); err != nil {
				return err
			}
			a.State = p.State
		}
		owner, note := cmp.Or(p.Owner, &a.Owner), cmp.Or(p.Note, &a.Note)
		if len(*owner) > api.MaxName || len(*note) > maxNote {
			return api.Errorf(api.InvalidParams, "owner has over %d bytes, or note over %d", api.MaxName, maxNote)
		}
		a.Owner, a.Note = *owner, *note
		return w.putAlert(&a)
	})
	if err != nil {
		return api.Alert{}, err
	}
	all, err := d.alerts(ctx, "WHERE id = ?", p.Alert)
	if err != nil {
		return api.Alert{}, err
	}
	return all[0], nil // alerts are never removed
}
