package cpuprofile

import (
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/jsonstream"
)

// Limits of the nodes of a profile: their number, the bytes of a text and of all texts.
const (
	maxNodes = 1 << 20
	maxText  = 4 * activity.MaxName
	maxTexts = 64 << 20
)

// Tree has the nodes of a profile: functions with their callers. The numbers of nodes are the
// file's.
type Tree struct {
	to     activity.Sink
	claims *activity.Claims
	nodes  map[int32]*node
	texts  int // bytes
}

// node is a function called by another node.
type node struct {
	parent   int32
	function activity.Function
	root     bool // of all nodes
	idle     bool
	stack    uint32
	state    state
}

type state uint8

// States of a node's stack.
const (
	unknown state = iota
	resolving
	resolved
	broken // it calls itself, or is too deep
)

// NewTree returns an empty tree. It counts damaged records in the claims.
func NewTree(to activity.Sink, claims *activity.Claims) *Tree {
	return &Tree{to: to, claims: claims, nodes: map[int32]*node{}}
}

// Nodes adds an array of nodes.
func (t *Tree) Nodes(raw []byte) {
	if len(raw) == 0 {
		return
	}
	whole := jsonstream.Elements(raw, func(value []byte) bool {
		t.Node(value)
		return true
	})
	if !whole {
		t.claims.Skip("malformed nodes")
	}
}

// Node adds a node. It names its parent or its children.
func (t *Tree) Node(raw []byte) {
	t.claims.Records++
	id, ok := jsonstream.Decimal(jsonstream.Find(raw, "id"), 0)
	if !ok || id != int64(int32(id)) || len(t.nodes) >= maxNodes || t.texts > maxTexts {
		t.claims.Skip("malformed nodes")
		return
	}
	n := t.node(int32(id))
	jsonstream.Fields(raw, func(key, value []byte) bool {
		switch string(key) {
		case "parent":
			n.parent = jsonstream.Int(value)
		case "children":
			jsonstream.Elements(value, func(value []byte) bool {
				if child := jsonstream.Int(value); len(t.nodes) < maxNodes {
					t.node(child).parent = int32(id)
				}
				return true
			})
		case "callFrame":
			n.call(value)
			t.texts += len(n.function.Name) + len(n.function.File)
		}
		return true
	})
}

func (t *Tree) node(id int32) *node {
	n := t.nodes[id]
	if n == nil {
		n = &node{}
		t.nodes[id] = n
	}
	return n
}

// call takes the function of a node.
func (n *node) call(raw []byte) {
	f, own := activity.Function{Lang: activity.Script}, true
	jsonstream.Fields(raw, func(key, value []byte) bool {
		switch string(key) {
		case "functionName":
			f.Name = short(value)
		case "url":
			f.File = short(value)
		case "scriptId":
			own = string(value) != "0" && string(value) != `"0"`
		case "lineNumber":
			f.Line = max(0, int(jsonstream.Int(value))+1) // from 0 in the file
		case "columnNumber":
			f.Offset = uint64(max(0, jsonstream.Int(value)+1))
		}
		return true
	})
	if f.File == "" {
		f.Line, f.Offset = 0, 0
	}
	switch {
	case f.Name == "(root)":
		n.root = true
	case f.Name == "(idle)":
		n.idle = true
	case f.Name == "":
		f.Name = "(anonymous)"
	case f.File == "" && (!own || f.Name[0] == '('): // of the engine, such as (program)
		f.Lang = activity.Native
	}
	n.function = f
}

// short returns a text with at least the bytes that are kept.
func short(raw []byte) string {
	text, _ := jsonstream.Text(raw)
	if len(text) > maxText {
		text = strings.Clone(text[:maxText]) // so that the rest is freed
	}
	return text
}

// Sample passes on a sample at a node. Idle time is left out.
func (t *Tree) Sample(thread uint32, at, lasts int64, id int32) error {
	n := t.nodes[id]
	if n == nil {
		t.claims.Skip("samples of unknown nodes")
		return nil
	}
	if n.idle || n.root {
		return nil
	}
	if !t.resolve(id) {
		t.claims.Skip("samples with impossible stacks")
		return nil
	}
	return t.to.Event(activity.Event{At: at, Thread: thread, Kind: activity.Sample, Ref: n.stack, Value: lasts})
}

// resolve makes the stack of a node.
func (t *Tree) resolve(id int32) bool {
	var path []*node // without stacks, innermost first
	callers := uint32(0)
	for ok := true; ok; {
		n := t.nodes[id]
		if n == nil || n.root {
			break
		}
		switch n.state {
		case resolved:
			callers, ok = n.stack, false
			continue
		case unknown:
			n.state = resolving
			path = append(path, n)
		case resolving, broken:
			n.state = broken
		}
		if n.state == broken || len(path) > activity.MaxDepth {
			for _, n := range path {
				n.state = broken
			}
			return false
		}
		id = n.parent
	}
	for i := len(path) - 1; i >= 0; i-- {
		callers = t.to.Stack(callers, t.to.Function(path[i].function))
		path[i].stack, path[i].state = callers, resolved
	}
	return true
}
