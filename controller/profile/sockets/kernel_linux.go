//go:build linux && (amd64 || arm64)

package sockets

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// kernel has offsets in structures of the running kernel.
type kernel struct {
	taskFiles, taskStart         int32 // struct task_struct
	filesTable                   int32
	tableMax, tableFiles         int32
	fileInode, filePrivate       int32
	inodeMode, inodeNumber       int32
	socketSock                   int32
	socketInode                  int32 // from a socket to its inode's number
	sockType, sockProtocol       int32
	sockSocket                   int32
	family                       int32 // struct sock_common is the begin of a sock
	remote4, local4              int32
	remotePort, localPort        int32
	remote6, local6              int32 // -1: no IPv6
	common                       int32 // bytes of sock_common up to the last of these
	received, consumed, streamed int32 // struct tcp_sock: rcv_nxt, copied_seq, bytes_received
}

// loadKernel reads the offsets from the kernel's type information.
func loadKernel() (*kernel, error) {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, err
	}
	k := &kernel{}
	var inode, vfs, socket int32
	var errs error
	for _, f := range []struct {
		of, name string
		to       *int32
	}{
		{"task_struct", "files", &k.taskFiles}, {"task_struct", "start_time", &k.taskStart},
		{"files_struct", "fdt", &k.filesTable},
		{"fdtable", "max_fds", &k.tableMax}, {"fdtable", "fd", &k.tableFiles},
		{"file", "f_inode", &k.fileInode}, {"file", "private_data", &k.filePrivate},
		{"inode", "i_mode", &k.inodeMode}, {"inode", "i_ino", &inode},
		{"socket", "sk", &k.socketSock},
		{"socket_alloc", "vfs_inode", &vfs}, {"socket_alloc", "socket", &socket},
		{"sock", "sk_type", &k.sockType}, {"sock", "sk_protocol", &k.sockProtocol},
		{"sock", "sk_socket", &k.sockSocket},
		{"sock_common", "skc_family", &k.family},
		{"sock_common", "skc_daddr", &k.remote4}, {"sock_common", "skc_rcv_saddr", &k.local4},
		{"sock_common", "skc_dport", &k.remotePort}, {"sock_common", "skc_num", &k.localPort},
		{"sock_common", "skc_v6_daddr", &k.remote6}, {"sock_common", "skc_v6_rcv_saddr", &k.local6},
		{"tcp_sock", "rcv_nxt", &k.received}, {"tcp_sock", "copied_seq", &k.consumed},
		{"tcp_sock", "bytes_received", &k.streamed},
	} {
		var structure *btf.Struct
		if err := spec.TypeByName(f.of, &structure); err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		offset, ok := member(structure.Members, f.name)
		if !ok && (f.to == &k.remote6 || f.to == &k.local6) {
			offset, ok = -1, true
		}
		if !ok {
			errs = errors.Join(errs, fmt.Errorf("struct %s has no %s", f.of, f.name))
		}
		*f.to = offset
	}
	if errs != nil {
		return nil, errs
	}
	k.inodeNumber, k.socketInode = inode, vfs-socket+inode
	k.common = max(k.family+2, k.remote4+4, k.local4+4, k.remotePort+2, k.localPort+2, k.remote6+16, k.local6+16)
	if k.common > maxCommon {
		return nil, fmt.Errorf("struct sock_common has addresses at byte %d", k.common)
	}
	return k, nil
}

// member returns the offset of a member, also within unnamed structures and unions.
func member(all []btf.Member, name string) (int32, bool) {
	for _, m := range all {
		at := int32(m.Offset.Bytes())
		if m.Name == name {
			return at, true
		}
		if m.Name != "" {
			continue
		}
		var inner []btf.Member
		switch t := btf.UnderlyingType(m.Type).(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		if offset, ok := member(inner, name); ok {
			return at + offset, true
		}
	}
	return 0, false
}
