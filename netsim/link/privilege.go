package link

import "fmt"

// PrivilegeError says that this process may not do what a packet link takes.
type PrivilegeError struct {
	What string
	Err  error
}

func (e *PrivilegeError) Error() string {
	return fmt.Sprintf("%s: %v; a packet link takes root, or the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN, "+
		"and /dev/net/tun; a stream link takes nothing, and is approximate", e.What, e.Err)
}

func (e *PrivilegeError) Unwrap() error { return e.Err }
