package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	maxWords     = 10
	maxTextBytes = 300
)

// where collects conditions and what they compare with.
type where struct {
	conditions []string
	args       []any
	text       bool // words are joined
}

func (w *where) and(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

func (w *where) from() string {
	from := " FROM runs"
	if w.text {
		from = " FROM words JOIN runs ON runs.key = words.rowid"
	}
	if len(w.conditions) > 0 {
		from += " WHERE " + strings.Join(w.conditions, " AND ")
	}
	return from
}

// count is a query for how many there are. Words alone are counted where they lie, which takes a
// tenth of the time.
func (w *where) count() string {
	if w.text && len(w.conditions) == 1 {
		return "SELECT count(*) FROM words WHERE " + w.conditions[0]
	}
	return "SELECT count(*)" + w.from()
}

// where makes conditions of a query, without its cursor.
func (q *Query) where() (*where, error) {
	w := &where{}
	if err := checkVerdict(q.Verdict); err != nil {
		return nil, err
	}
	text, err := wordsOf(q.Text)
	if err != nil {
		return nil, err
	}
	if text != "" {
		w.text = true
		w.and("words MATCH ?", text)
	}
	for _, c := range []struct{ column, value string }{
		{"test", q.Test}, {"device", q.Device}, {"browser", q.Browser}, {"label", q.Label}, {"branch", q.Branch},
		{"revision", q.Revision},
		{"state", string(q.State)}, {"verdict", string(q.Verdict)},
	} {
		if c.value != "" {
			w.and(c.column+" = ?", c.value)
		}
	}
	if q.Set != "" {
		if err := CheckID(q.Set); err != nil {
			return nil, err
		}
		w.and("folder = ?", topOf(q.Set))
		if q.Set != topOf(q.Set) {
			w.and("id >= ? AND id < ?", q.Set+"~", q.Set+"\x7f") // "~" is the letter before
		}
	}
	if !q.From.IsZero() {
		w.and("runs.key >= ? AND started >= ?", nanoseconds(q.From)&^(1<<keyBits-1), nanoseconds(q.From))
	}
	if !q.To.IsZero() {
		w.and("runs.key < ? AND started < ?", nanoseconds(q.To)|(1<<keyBits-1), nanoseconds(q.To))
	}
	return w, nil
}

// nanoseconds counts from 1970, also for times that have no such number.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, 0)):
		return 0
	case t.After(time.Unix(0, maxStart)):
		return maxStart
	}
	return t.UnixNano()
}

// wordsOf converts typed text to a search of the index: each word, whose last letters may be
// missing. A word must have letters or digits.
func wordsOf(text string) (string, error) {
	if len(text) > maxTextBytes {
		return "", fmt.Errorf("search for %d bytes: at most %d are looked for", len(text), maxTextBytes)
	}
	var words []string
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			words = append(words, `"`+strings.ReplaceAll(strings.ReplaceAll(word, "\x00", ""), `"`, `""`)+`" *`)
		}
	}
	if len(words) > maxWords {
		return "", fmt.Errorf("search for %d words: at most %d are looked for", len(words), maxWords)
	}
	return strings.Join(words, " AND "), nil
}

func (q *Query) limit() (int, error) {
	switch {
	case q.Limit == 0:
		return defaultLimit, nil
	case q.Limit < 0 || q.Limit > MaxLimit:
		return 0, fmt.Errorf("limit is %d, want 1 to %d", q.Limit, MaxLimit)
	}
	return q.Limit, nil
}

// after is the key behind which a page begins.
func after(cursor string) (int64, error) {
	if cursor == "" {
		return 1<<63 - 1, nil
	}
	key, err := strconv.ParseInt(cursor, 36, 64)
	if err != nil || key <= 0 {
		return 0, fmt.Errorf("%.40q is %w", cursor, ErrCursor)
	}
	return key, nil
}

func cursor(key int64) string { return strconv.FormatInt(key, 36) }

// page says which runs or sets are wanted, how many at most, and behind which key.
func (q *Query) page() (w *where, limit int, from int64, err error) {
	if w, err = q.where(); err != nil {
		return w, 0, 0, err
	}
	if limit, err = q.limit(); err != nil {
		return w, 0, 0, err
	}
	from, err = after(q.Cursor)
	return w, limit, from, err
}

// List returns a page of runs, newest first.
func (s *Store) List(ctx context.Context, q Query) (page Page, err error) {
	w, limit, from, err := q.page()
	if err != nil {
		return page, err
	}
	err = s.with(ctx, func(db *sql.DB) (err error) {
		page = Page{}
		if page.Total, err = s.counts.of(ctx, db, w.count(), w.args); err != nil {
			return err
		}
		return page.fill(ctx, db, w, from, limit, q.Values)
	})
	return page, err
}

// fill reads the runs behind a key, and one more to know whether there are.
func (p *Page) fill(ctx context.Context, db *sql.DB, w *where, from int64, limit int, values bool) error {
	order := "runs.key"
	if w.text {
		order = "words.rowid" // in which they are found
	}
	page := *w
	page.conditions, page.args = append([]string{}, w.conditions...), append([]any{}, w.args...)
	page.and(order+" < ?", from)
	rows, err := db.QueryContext(ctx, "SELECT runs.key, "+runColumns+page.from()+" ORDER BY "+order+" DESC LIMIT ?",
		append(page.args, limit+1)...)
	if err != nil {
		return err
	}
	defer rows.Close() // its errors are those of Err
	var keys []int64
	for rows.Next() {
		if len(p.Runs) == limit {
			p.Next = cursor(keys[limit-1])
			break
		}
		var r Run
		var key int64
		if err := r.scan(rows, &key); err != nil {
			return err
		}
		p.Runs, keys = append(p.Runs, r), append(keys, key)
	}
	if err := rows.Err(); err != nil || !values {
		return err
	}
	rows.Close() // before more is asked
	for i := range p.Runs {
		if err := p.Runs[i].details(ctx, db, keys[i]); err != nil {
			return err
		}
	}
	return nil
}

// details reads what List leaves out.
func (r *Run) details(ctx context.Context, db *sql.DB, key int64) error {
	var environment, values string
	err := db.QueryRowContext(ctx, "SELECT environment, run_values FROM details WHERE key = ?", key).Scan(&environment,
		&values)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // deleted since
	}
	if err != nil {
		return err
	}
	return errors.Join(json.Unmarshal([]byte(environment), &r.Environment), json.Unmarshal([]byte(values), &r.Values))
}

// Get returns a run as its files are now.
func (s *Store) Get(ctx context.Context, id string) (Run, error) {
	if err := CheckID(id); err != nil {
		return Run{}, err
	}
	r, stamp, err := s.get(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return r, err
	}
	there := s.there(id)
	if (err == nil) == (there == nil) && (err != nil || stamp == s.stampOf(id)) {
		return r, err
	}
	s.change.Lock()
	err = s.reindex(context.WithoutCancel(ctx), topOf(id))
	s.change.Unlock()
	if err != nil {
		return Run{}, err
	}
	r, _, err = s.get(ctx, id)
	return r, err
}

func (s *Store) get(ctx context.Context, id string) (r Run, stamp string, err error) {
	err = s.with(ctx, func(db *sql.DB) error {
		var key int64
		r = Run{}
		err := r.scan(db.QueryRowContext(ctx, "SELECT key, stamp, "+runColumns+" FROM runs WHERE id = ?", id), &key,
			&stamp)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%s: %w", id, ErrNotFound)
		}
		if err != nil {
			return err
		}
		return r.details(ctx, db, key)
	})
	return r, stamp, err
}

// runsBelow returns the runs that the index has of a folder below runs/, oldest first.
func (s *Store) runsBelow(ctx context.Context, folder string) (runs []Run, err error) {
	err = s.with(ctx, func(db *sql.DB) (err error) {
		runs, err = runsOf(ctx, db, folder)
		return err
	})
	return runs, err
}

func runsOf(ctx context.Context, db *sql.DB, folder string) (runs []Run, err error) {
	rows, err := db.QueryContext(ctx, "SELECT "+runColumns+" FROM runs WHERE folder = ? ORDER BY key", folder)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its errors are those of Err
	for rows.Next() {
		var r Run
		if err := r.scan(rows); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, rows.Err()
}

// counts remembers numbers that were counted, until something changes.
type counts struct {
	mu      sync.Mutex
	changes uint64
	known   map[string]int
}

const maxCounts = 200

func (c *counts) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	c.known = map[string]int{}
}

func (c *counts) of(ctx context.Context, db *sql.DB, query string, args []any) (n int, err error) {
	name := fmt.Sprintf("%s %q", query, args)
	c.mu.Lock()
	n, ok := c.known[name]
	changes := c.changes
	c.mu.Unlock()
	if ok {
		return n, nil
	}
	if err := db.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCounts {
		c.known = map[string]int{}
	}
	if c.changes == changes {
		c.known[name] = n
	}
	return n, nil
}
