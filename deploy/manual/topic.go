package manual

import "github.com/alecthomas/kong"

// Topic is a group of commands in the help.
type Topic struct {
	Name     string
	Commands []*kong.Node
}

// Topics returns the commands of the program by their tags "topic", in the order of the first ones.
// A command without one continues the topic above.
func Topics(root *kong.Node) (all []Topic) {
	for _, n := range root.Children {
		if n.Hidden { // removed
			continue
		}
		if name := n.Tag.Get("topic"); name != "" {
			all = append(all, Topic{Name: name})
		}
		last := &all[len(all)-1]
		last.Commands = append(last.Commands, n)
	}
	return all
}
