// Package cpuprofile reads profiles of V8 in the format .cpuprofile: those of DevTools and of
// node --cpu-prof.
package cpuprofile

import (
	"errors"
	"fmt"
	"io"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/jsonstream"
)

const (
	maxTime    = 1 << 60 // ns
	maxSamples = 16 << 20
)

// Read reads a profile. Damaged records are skipped and counted. The error is that of the sink, or
// of a file without a profile.
func Read(from io.Reader, to activity.Sink) (*activity.Claims, error) {
	claims := &activity.Claims{Engine: "cpuprofile", Way: "samples", Resolution: 1000}
	tree := NewTree(to, claims)
	s := jsonstream.New(from)
	start, known := int64(0), false
	var nodes []int32
	var deltas []int64
	err := s.Object(func(key string) error {
		switch key {
		case "nodes":
			return s.Array(func() error {
				raw, err := s.Raw()
				if errors.Is(err, jsonstream.ErrLong) {
					claims.Skip("long records")
					return nil
				}
				if err == nil {
					tree.Node(raw)
				}
				return err
			})
		case "startTime":
			raw, err := s.Raw()
			start, known = jsonstream.Decimal(raw, 3)
			return err
		case "samples":
			return numbers(s, claims, func(raw []byte) { nodes = append(nodes, jsonstream.Int(raw)) })
		case "timeDeltas":
			return numbers(s, claims, func(raw []byte) {
				n, ok := jsonstream.Decimal(raw, 3)
				if !ok || n <= -maxTime || n >= maxTime {
					n = -maxTime
				}
				deltas = append(deltas, n)
			})
		}
		return s.Skip()
	})
	if errors.Is(err, io.ErrUnexpectedEOF) && claims.Records > 0 {
		claims.Truncated, err = true, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read .cpuprofile: %w", err)
	}
	if !known || start < 0 || start >= maxTime {
		return nil, errors.New("read .cpuprofile: it has no start time")
	}
	return claims, pass(to, tree, claims, start, nodes, deltas)
}

// numbers reads an array of many small values.
func numbers(s *jsonstream.Stream, claims *activity.Claims, each func(raw []byte)) error {
	n := 0
	return s.Array(func() error {
		raw, err := s.Raw()
		if err != nil {
			return err
		}
		if n++; n > maxSamples {
			return fmt.Errorf("over %d samples", maxSamples)
		}
		each(raw)
		return nil
	})
}

// pass passes on the samples. Each one stands for the time until the next one.
func pass(to activity.Sink, tree *Tree, claims *activity.Claims, start int64, nodes []int32, deltas []int64) error {
	thread := to.Thread(activity.Thread{ID: 1, Name: "JavaScript"})
	if len(nodes) != len(deltas) {
		claims.Skip("lists of samples and times that differ in length")
	}
	at, count := start, min(len(nodes), len(deltas))
	claims.Seen(start)
	for i := range count {
		claims.Records++
		if next := at + deltas[i]; deltas[i] == -maxTime || next < 0 || next >= maxTime {
			claims.Skip("impossible times")
			continue
		}
		at += deltas[i]
		lasts := int64(0)
		if i+1 < count {
			lasts = max(0, deltas[i+1])
		}
		claims.Seen(at)
		if err := tree.Sample(thread, at, lasts, nodes[i]); err != nil {
			return err
		}
	}
	return nil
}
