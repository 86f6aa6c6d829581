package hub

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// figures count what a hub does.
type figures struct {
	polls, writes, lost uint64
	waiting             map[string]int           // jobs by class
	oldest              map[string]time.Duration // greatest ages
	running, away       int
}

func (h *Hub) now() figures {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, now := h.figures, h.o.Now()
	f.waiting, f.oldest = map[string]int{}, map[string]time.Duration{}
	for _, j := range h.jobs {
		switch {
		case j.live():
			f.running++
		case !j.ended():
			f.waiting[j.Class]++
			f.oldest[j.Class] = max(f.oldest[j.Class], now.Sub(time.Unix(0, j.QueuedNS)))
		}
	}
	for _, r := range h.rigs {
		if r.known && h.away(r, now) {
			f.away++
		}
	}
	return f
}

// Describe implements [prometheus.Collector]. It is unchecked: classes depend on the queue.
func (h *Hub) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (h *Hub) Collect(to chan<- prometheus.Metric) {
	f := h.now()
	send := func(kind prometheus.ValueType, name, help string, v float64, class ...string) {
		d := prometheus.NewDesc("eideticker_fleet_"+name, help, []string{"class"}[:len(class)], nil)
		to <- prometheus.MustNewConstMetric(d, kind, v, class...)
	}
	send(prometheus.CounterValue, "polls_total", "Polls of rigs.", float64(f.polls))
	send(prometheus.CounterValue, "writes_total", "Writes of jobs to the hub's storage.", float64(f.writes))
	send(prometheus.CounterValue, "lost_attempts_total", "Attempts whose rig was lost.", float64(f.lost))
	send(prometheus.GaugeValue, "running_jobs", "Jobs at work.", float64(f.running))
	send(prometheus.GaugeValue, "away_rigs", "Rigs that are silent.", float64(f.away))
	for class, n := range f.waiting {
		send(prometheus.GaugeValue, "waiting_jobs", "Jobs that wait.", float64(n), class)
		send(prometheus.GaugeValue, "oldest_waiting_seconds", "Age of the oldest job that waits.",
			f.oldest[class].Seconds(), class)
	}
}
