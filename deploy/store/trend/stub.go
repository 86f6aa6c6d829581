package trend

import (
	"context"
	"errors"
	"log/slog"

	"github.com/eideticker/eideticker/deploy/api"
)

var errTodo = errors.New("not built yet")

// DB is the file of trends. Its methods may be called from several goroutines.
type DB struct{}

// Open opens the file, and makes it anew from the folder runs beside it if need be.
func Open(ctx context.Context, path string, log *slog.Logger) (*DB, error) { return nil, errTodo }

// Close is idempotent.
func (d *DB) Close() error { return nil }

// Read reads a set's folder: its origin.json, set.json and the results of its counted runs.
func Read(ctx context.Context, folder string) (Origin, []Measured, error) {
	return Origin{}, nil, errTodo
}

// Add adds the points of a set. A set that was added before is replaced.
func (d *DB) Add(ctx context.Context, set string, all []Measured) error { return errTodo }

// AddBuilds adds builds, or updates them. A changed hash makes a build broken.
func (d *DB) AddBuilds(ctx context.Context, all []api.Build) error { return errTodo }

// Builds returns the newest builds of a feed, newest first.
func (d *DB) Builds(ctx context.Context, feed string, limit int) ([]api.Build, error) {
	return nil, errTodo
}

// AddGap notes a build without a point, or replaces its reason.
func (d *DB) AddGap(ctx context.Context, g Gap) error { return errTodo }

// Series lists series.
func (d *DB) Series(ctx context.Context, p api.SeriesListParams) (api.SeriesList, error) {
	return api.SeriesList{}, errTodo
}

// Get returns a page of a series.
func (d *DB) Get(ctx context.Context, p api.SeriesParams) (api.SeriesData, error) {
	return api.SeriesData{}, errTodo
}

// Points returns the points from one sequence number to another, oldest first; toSeq 0: to the last.
// Of more than the limit it returns the newest.
func (d *DB) Points(ctx context.Context, series, fromSeq, toSeq int64, limit int) ([]Point, error) {
	return nil, errTodo
}

// PutChange adds a change (ID 0) and sets its ID, or updates one. A dismissed change stays so: then
// it returns an api.Error with code Conflict.
func (d *DB) PutChange(ctx context.Context, c *api.SeriesShift) error { return errTodo }

// Change returns one change.
func (d *DB) Change(ctx context.Context, id int64) (api.SeriesShift, error) {
	return api.SeriesShift{}, errTodo
}

// Changes lists changes, newest first.
func (d *DB) Changes(ctx context.Context, p api.ChangeListParams) ([]api.SeriesShift, error) {
	return nil, errTodo
}

// Dismiss marks a change as uninteresting.
func (d *DB) Dismiss(ctx context.Context, p api.ChangeID) (api.SeriesShift, error) {
	return api.SeriesShift{}, errTodo
}

// PutAlert adds an alert (ID 0) and sets its ID, or updates its range, changes and command. State,
// owner and note of an existing alert belong to people and stay.
func (d *DB) PutAlert(ctx context.Context, a *api.Alert) error { return errTodo }

// Alerts lists alerts, newest first.
func (d *DB) Alerts(ctx context.Context, p api.AlertListParams) ([]api.Alert, error) {
	return nil, errTodo
}

// SetAlert changes what people say of an alert.
func (d *DB) SetAlert(ctx context.Context, p api.AlertParams) (api.Alert, error) {
	return api.Alert{}, errTodo
}
