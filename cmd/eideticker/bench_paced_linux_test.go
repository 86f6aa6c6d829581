package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/analyze/export"
)

// pacedJSON is how one recording in real time went. It ran in a process of its own, whose times and
// memory are those of the synthetic source too.
type pacedJSON struct {
	Scene         string        `json:"scene"`
	Sources       int           `json:"sources"` // recorded at once; the other numbers are of all together
	Frames        uint64        `json:"frames"`
	Missing       uint64        `json:"missing_frames"`
	Lost          []export.Loss `json:"lost"`
	DurationNS    int64         `json:"duration_ns"`
	Bytes         int64         `json:"bytes"`
	CPUPerSecond  float64       `json:"cpu_s_per_s"`
	RingHighWater int           `json:"ring_high_water_slots"`
	ResidentBytes int64         `json:"resident_bytes"` // at most, without the ring
}

type pacedCase struct {
	scene   string
	seconds int
	sources int
}

// pacedCases are what a box with two processors and one fast disk should record without losing a
// frame, but for the last, which is more than its disk takes.
func pacedCases() []pacedCase {
	return []pacedCase{
		{"web?size=3840x2160", 60, 1},
		{"noise?size=1920x1080", 20, 1},
		{"web?size=1920x1080", 60, 2},
		{"web?size=1920x1080", 300, 1},
		{"noise?size=3840x2160", 10, 1},
	}
}

// paced records scenes in real time.
func (b *bench) paced() error {
	self, err := exec.LookPath("eideticker") // this binary, see TestMain
	if err != nil {
		return err
	}
	for _, c := range pacedCases() {
		b.phase(fmt.Sprintf("recording synth:%s for %d s, %d at once", c.scene, c.seconds, c.sources), 0).End()
		all := make([]pacedJSON, c.sources)
		var g errgroup.Group
		for i := range all {
			g.Go(func() (err error) {
				all[i], err = b.recordPaced(self, c, filepath.Join(b.dir, fmt.Sprintf("paced-%d.eid", i)))
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		sum := all[0]
		for _, p := range all[1:] {
			sum.Frames += p.Frames
			sum.Missing += p.Missing
			sum.Lost = append(sum.Lost, p.Lost...)
			sum.Bytes += p.Bytes
			sum.CPUPerSecond += p.CPUPerSecond
			sum.RingHighWater = max(sum.RingHighWater, p.RingHighWater)
			sum.ResidentBytes = max(sum.ResidentBytes, p.ResidentBytes)
		}
		b.result.Paced = append(b.result.Paced, sum)
	}
	return nil
}

func (b *bench) recordPaced(self string, c pacedCase, path string) (p pacedJSON, err error) {
	var out, said strings.Builder
	uri := "synth:" + c.scene + "&pace=realtime"
	cmd := exec.CommandContext(b.ctx, self, "record", "-s", uri, "-t", fmt.Sprintf("%ds", c.seconds), "-o", path,
		"--json")
	cmd.Stdout, cmd.Stderr = &out, &said
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	if err := cmd.Run(); err != nil {
		return p, fmt.Errorf("record %s: %w: %s", uri, err, strings.TrimSpace(said.String()))
	}
	var r struct {
		pacedJSON
		RingBytes int64 `json:"ring_bytes"`
	}
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		return p, fmt.Errorf("record %s --json: %w", uri, err)
	}
	p = r.pacedJSON
	p.Scene, p.Sources = c.scene, c.sources
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	p.CPUPerSecond = cpu.Seconds() / time.Duration(p.DurationNS).Seconds()
	if peak := peakMemory(cmd.ProcessState); peak > 0 {
		p.ResidentBytes = peak - r.RingBytes
	}
	return p, nil
}

func pacedRows(paced []pacedJSON) [][]string {
	var rows [][]string
	for _, p := range paced {
		lost := "0"
		if p.Missing > 0 {
			var causes []string
			for _, l := range p.Lost {
				causes = append(causes, fmt.Sprintf("%d %s", l.Frames, l.Cause))
			}
			lost = strings.Join(causes, ", ")
		}
		rows = append(rows, []string{
			p.Scene, fmt.Sprint(p.Sources), secondsText(time.Duration(p.DurationNS)), fmt.Sprint(p.Frames), lost,
			fmt.Sprintf("%.2f", p.CPUPerSecond), bytesText(p.Bytes), fmt.Sprint(p.RingHighWater),
			bytesText(p.ResidentBytes),
		})
	}
	return rows
}
