package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// state is the content of schedule.json.
type state struct {
	Version   int                  `json:"version"`
	Schedules map[string]*progress `json:"schedules"`
	Confirms  []*confirmation      `json:"confirmations"`
	Spent     []spent              `json:"spent"`
	Causes    []*explanation       `json:"explanations,omitempty"`
	Work      []work               `json:"work"`
	Devices   map[string]*watched  `json:"devices,omitempty"` // those of schedules
}

// progress is the state of a schedule.
type progress struct {
	Paused bool   `json:"paused,omitempty"`
	Reason string `json:"reason,omitempty"`
	Seen   bool   `json:"seen,omitempty"` // its feed or its clock
	Seq    int64  `json:"seq,omitempty"`  // newest build that was taken
	// Had are the newest builds up to it that its feed had.
	Had    []int64 `json:"had,omitempty"`
	Cron   int64   `json:"cron_wall_ns,omitempty"`
	Last   int64   `json:"last_wall_ns,omitempty"`
	Job    string  `json:"last_job,omitempty"`
	Points int     `json:"points,omitempty"`
	Gap    string  `json:"gap,omitempty"` // the latest one, since the last point
	Tasks  []task  `json:"tasks"`
	// Chosen are the devices of a schedule with needs, by test.
	Chosen map[string]string `json:"chosen,omitempty"`
	// Pools are the A/A tests between the devices of its pool, by test.
	Pools map[string]*poolTest `json:"pools,omitempty"`
	// Filled are the candidates whose builds between have been queued.
	Filled []int64 `json:"filled,omitempty"`
	// Checks are the latest repetitions of the control, by device and test.
	Checks map[string]*check `json:"checks,omitempty"`
}

// task is a job whose result is not kept yet.
type task struct {
	ID       string        `json:"job"`
	Test     string        `json:"test"`
	Device   string        `json:"device"`
	Class    string        `json:"class"`
	Repeat   int           `json:"repeat"`
	Variants []api.Variant `json:"variants"`
	Origin   trend.Origin  `json:"origin"`
	Due      int64         `json:"due_wall_ns,omitempty"` // 0: never
	Salt     string        `json:"salt,omitempty"`
	Attempt  int           `json:"attempt,omitempty"`
	MaxLost  *float64      `json:"max_lost,omitempty"`
}

// confirmation is one that has begun. Its changes have the same builds, test and device.
type confirmation struct {
	Changes []int64 `json:"changes"` // undecided ones
	Alpha   float64 `json:"alpha"`
	Tasks   []task  `json:"tasks"` // all but the last have ended
}

// spent is a part of the budget.
type spent struct {
	At     int64   `json:"wall_ns"`
	Alpha  float64 `json:"alpha"`
	Change int64   `json:"change"`
}

// work is the time that a job took on its device.
type work struct {
	At   int64 `json:"wall_ns"`
	NS   int64 `json:"ns"`
	Runs int   `json:"runs"`
}

const (
	stateVersion = 1
	maxState     = 64 << 20
)

func (e *Engine) load() error {
	e.state = state{Version: stateVersion, Schedules: map[string]*progress{}, Devices: map[string]*watched{}}
	read := state{}
	err := readJSON(e.File, &read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && read.Version != stateVersion {
		err = fmt.Errorf("version %d", read.Version)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("read %s: %w", e.File, err), os.Rename(e.File, e.File+".unreadable"))
	}
	for name, p := range read.Schedules {
		if p != nil {
			e.state.Schedules[name] = p
		}
	}
	maps.DeleteFunc(read.Devices, func(_ string, w *watched) bool { return w == nil })
	maps.Copy(e.state.Devices, read.Devices)
	e.state.Confirms, e.state.Spent, e.state.Work = read.Confirms, read.Spent, read.Work
	e.state.Causes = slices.DeleteFunc(read.Causes, func(c *explanation) bool { return c == nil })
	return nil
}

// readJSON reads a file that was written whole.
func readJSON(path string, to any) error {
	staging.CleanFile(path)
	st, err := os.Stat(path)
	if err == nil && st.Size() > maxState {
		err = fmt.Errorf("it has %d bytes", st.Size())
	}
	var raw []byte
	if err == nil {
		raw, err = os.ReadFile(path)
	}
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	return err
}

func (e *Engine) save() error {
	raw, err := json.MarshalIndent(e.state, "", " ")
	if err != nil {
		return err
	}
	e.saved = e.Now()
	return e.write(e.File, raw, 0o640)
}
