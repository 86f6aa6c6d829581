package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// packed is the compression of frames whose pixels all change but that are pictures: a cross-fade
// or a scroll sideways. See README, "How fast, how small". Pages pack far better, noise not at all.
const packed = 4

const (
	shortTime = 10 * time.Minute // of recording; for less there is a warning
	minTime   = time.Minute      // less is not worth beginning
	longWrite = time.Second      // half of what a ring holds
)

// disk holds what the folder takes against what the inputs may make of it.
func (b *Box) disk(g *group) {
	d := b.Disk
	if d.Err != nil {
		f := Finding{ID: "disk-speed", Object: d.Dir, Level: Fail, Found: d.Err.Error(),
			Advice: "Name a folder on the disk for recordings with --dir, and mend what keeps it from being written."}
		switch {
		case errors.Is(d.Err, fs.ErrPermission):
			f.Advice = "Name a folder that you may write to with --dir, or make this one yours with sudo chown."
		case errors.Is(d.Err, errNoFiles):
			g.add(f)
			return // the free space is negligible
		case errors.Is(d.Err, fs.ErrNotExist):
			f.Advice = "Make the folder, or name another with --dir."
		}
		g.add(f)
		b.space(g)
		return
	}
	n := b.need()
	raw := n.bytesPerSecond()
	speed := d.bytesPerSecond()
	f := Finding{ID: "disk-speed", Object: d.Dir, Numbers: map[string]float64{
		"available_bytes_per_s": speed, "needed_most_bytes_per_s": raw, "needed_busy_bytes_per_s": raw / packed,
		"written_bytes": float64(d.Written), "written_ns": float64(d.Took), "longest_write_ns": float64(d.Longest),
	}}
	f.Found = fmt.Sprintf("takes %s (%s written in %.1f s, max write %v); needs %s for noise, %s for busy, with %v",
		speedText(speed), sizeText(float64(d.Written)), d.Took.Seconds(), d.Longest.Round(time.Millisecond),
		speedText(raw), speedText(raw/packed), n)
	switch {
	case speed < raw/packed && !n.assumed:
		f.Level = Fail
		f.Advice = "Record to a faster disk (NVMe), or fewer inputs or a smaller mode at a time."
	case speed < raw/packed:
		f.Level = Warn
		f.Advice = "Record to a faster disk (NVMe), or smaller modes than that."
	case speed < raw:
		f.Level = Warn
		f.Advice = "Noisy pictures may be lost after seconds: use a faster disk or a larger --ring for those."
	}
	g.add(f)
	if d.Longest > longWrite {
		g.add(Finding{ID: "disk-stall", Object: d.Dir, Level: Warn,
			Found:   fmt.Sprintf("one write of %s took %v", sizeText(diskBlock), d.Longest.Round(time.Millisecond)),
			Advice:  "Keep other programs from this disk, or give record a larger --ring.",
			Numbers: map[string]float64{"longest_write_ns": float64(d.Longest)}})
	}
	b.direct(g)
	b.space(g)
}

func (b *Box) direct(g *group) {
	if b.Disk.Direct {
		g.add(Finding{ID: "disk-direct", Object: b.Disk.Dir, Found: "is written past the page cache (O_DIRECT)"})
		return
	}
	g.add(Finding{ID: "disk-direct", Object: b.Disk.Dir, Level: Warn, Found: "is written through the page cache: " +
		b.Disk.DirectNote,
		Advice: "Record to a filesystem with O_DIRECT (ext4, xfs, btrfs): the cache copies, and stalls when full."})
}

// space says how long one can record.
func (b *Box) space(g *group) {
	d := b.Disk
	if d.SpaceErr != nil {
		g.add(Finding{ID: "disk-space", Object: d.Dir, Level: Info, Found: "free space is not known: " +
			d.SpaceErr.Error(),
			Advice: "Look how much is free before long recordings."})
		return
	}
	n := b.need()
	raw := n.bytesPerSecond()
	least, busy := seconds(float64(d.Free)/raw), seconds(float64(d.Free)/(raw/packed))
	f := Finding{ID: "disk-space", Object: d.Dir, Numbers: map[string]float64{
		"free_bytes": float64(d.Free), "noise_duration_ns": float64(least), "busy_duration_ns": float64(busy),
	}}
	f.Found = fmt.Sprintf("%s free: %s of noise, %s of busy pictures, far longer of pages", sizeText(float64(d.Free)),
		spanText(least), spanText(busy))
	switch {
	case busy < minTime && !n.assumed:
		f.Level = Fail
	case busy < shortTime:
		f.Level = Warn
	}
	if f.Level > OK {
		f.Advice = "Make room on the disk, or record elsewhere."
	}
	g.add(f)
}
