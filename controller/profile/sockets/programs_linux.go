//go:build linux && (amd64 || arm64)

package sockets

import (
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// programs assembles the programs. Maps are descriptors.
type programs struct {
	*kernel
	calls, lost, cgroup, open, ring, watched int
	wake                                     int32 // bytes in the ring that wake the reader
}

// Registers keep their values over calls of helpers. The context is a pointer once it was used.
const (
	context  = asm.R6
	record   = asm.R7
	property = asm.R8
	pointer  = asm.R9
	stack    = asm.RFP
)

// Slots on the stack. A record of sys_enter is below them.
const (
	slotKey   = -8
	slotValue = -16
	slotShort = -20
	onStack   = -24 - sizeRecord
)

// place is a record in memory: a register and an offset.
type place struct {
	reg asm.Register
	at  int16
}

// store writes a register to a field.
func (p place) store(field int16, from asm.Register, size asm.Size) asm.Instruction {
	return asm.StoreMem(p.reg, p.at+field, from, size)
}

// load reads a field.
func (p place) load(to asm.Register, field int16, size asm.Size) asm.Instruction {
	return asm.LoadMem(to, p.reg, p.at+field, size)
}

// pass lets a register point to a field.
func (p place) pass(to asm.Register, field int16) asm.Instructions {
	return asm.Instructions{asm.Mov.Reg(to, p.reg), asm.Add.Imm(to, int32(p.at+field))}
}

// slot lets a register point to a slot.
func slot(to asm.Register, at int16) asm.Instructions { return place{stack, at}.pass(to, 0) }

// read copies kernel memory at base + offset to a place. It jumps if that fails.
func read(to place, field int16, size int32, base asm.Register, offset int32, failed string) asm.Instructions {
	return join(
		asm.Instructions{asm.Mov.Reg(asm.R3, base), asm.Add.Imm(asm.R3, offset)},
		to.pass(asm.R1, field),
		asm.Instructions{asm.Mov.Imm(asm.R2, size), asm.FnProbeReadKernel.Call(), asm.JNE.Imm(asm.R0, 0, failed)},
	)
}

// follow replaces a register by the value of kernel memory at base + offset.
func follow(to, base asm.Register, offset int32, size asm.Size, failed string) asm.Instructions {
	return join(read(place{stack, slotValue}, 0, int32(size.Sizeof()), base, offset, failed),
		asm.Instructions{asm.LoadMem(to, stack, slotValue, size)})
}

func join(parts ...asm.Instructions) (all asm.Instructions) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func (p *programs) lookup(fd int, key int16, absent string) asm.Instructions {
	return join(asm.Instructions{asm.LoadMapPtr(asm.R1, fd)}, slot(asm.R2, key),
		asm.Instructions{asm.FnMapLookupElem.Call(), asm.JEq.Imm(asm.R0, 0, absent)})
}

// losses lets R0 point to the number of lost records.
func (p *programs) losses() asm.Instructions {
	return join(asm.Instructions{asm.StoreImm(stack, slotShort, 0, asm.Word)}, p.lookup(p.lost, slotShort, "out"))
}

// lose counts a lost record.
func (p *programs) lose() asm.Instructions {
	return join(p.losses(), asm.Instructions{asm.Mov.Imm(asm.R1, 1), asm.StoreXAdd(asm.R0, asm.R1, asm.DWord)})
}

// selected leaves the program for other processes.
func (p *programs) selected() asm.Instructions {
	return asm.Instructions{asm.LoadMapPtr(asm.R1, p.cgroup), asm.Mov.Imm(asm.R2, 0),
		asm.FnCurrentTaskUnderCgroup.Call(), asm.JNE.Imm(asm.R0, 1, "out")}
}

func (p *programs) out() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return()}
}

func zero(at place, size int16) asm.Instructions {
	all := asm.Instructions{asm.Mov.Imm(asm.R1, 0)}
	for i := int16(0); i < size; i += 8 {
		all = append(all, at.store(i, asm.R1, asm.DWord))
	}
	return all
}

func now(at place, field int16) asm.Instructions {
	return asm.Instructions{asm.FnKtimeGetNs.Call(), at.store(field, asm.R0, asm.DWord)}
}

// when jumps over instructions if a property is not set.
func when(bits int32, label string, then asm.Instructions) asm.Instructions {
	return join(asm.Instructions{asm.Mov.Reg(asm.R1, property), asm.And.Imm(asm.R1, bits),
		asm.JEq.Imm(asm.R1, 0, label)}, then, mark(label))
}

// mark is a label.
func mark(label string) asm.Instructions {
	return asm.Instructions{asm.Mov.Reg(asm.R0, asm.R0).WithSymbol(label)}
}

// enter is the program of sys_enter.
func (p *programs) enter() asm.Instructions {
	rec := place{stack, onStack}
	arg := registers()
	argument := func(n int, failed string) asm.Instructions {
		return follow(asm.R3, pointer, arg[n], asm.DWord, failed)
	}
	address := func(n int, label string) asm.Instructions {
		// A shorter one may be at the end of a page.
		from := func(size int32, failed string) asm.Instructions {
			return join(argument(n, label), rec.pass(asm.R1, recAddress), asm.Instructions{asm.Mov.Imm(asm.R2, size),
				asm.FnProbeReadUser.Call(), asm.JNE.Imm(asm.R0, 0, failed)})
		}
		return join(argument(n+1, label), asm.Instructions{asm.JGE.Imm(asm.R3, sizeAddress, label+" long"),
			asm.JLT.Imm(asm.R3, 16, label)}, from(16, label), asm.Instructions{asm.Ja.Label(label)},
			mark(label+" long"), from(sizeAddress, label))
	}
	flags := func(n int, label string) asm.Instructions {
		return join(argument(n, label), asm.Instructions{rec.store(recFlags, asm.R3, asm.Word)})
	}
	return join(
		asm.Instructions{asm.Mov.Reg(context, asm.R1), asm.LoadMem(asm.R1, context, 8, asm.DWord),
			asm.JGT.Imm(asm.R1, maxCalls-1, "out"), asm.StoreMem(stack, slotShort, asm.R1, asm.Word)},
		p.lookup(p.calls, slotShort, "out"),
		asm.Instructions{asm.LoadMem(property, asm.R0, 0, asm.Word), asm.JEq.Imm(property, 0, "out")},
		p.selected(), zero(rec, sizeRecord),
		asm.Instructions{asm.LoadMem(pointer, context, 0, asm.DWord)},
		follow(asm.R1, pointer, modeOffset, asm.DWord, "out"),
		asm.Instructions{asm.And.Imm(asm.R1, modeMask), asm.JNE.Imm(asm.R1, modeWanted, "out")},
		now(rec, recBegin),
		asm.Instructions{asm.FnGetCurrentPidTgid.Call(), rec.store(recThread, asm.R0, asm.DWord),
			asm.StoreMem(stack, slotKey, asm.R0, asm.DWord), rec.store(recCall, property, asm.Word),
			asm.StoreImm(rec.reg, rec.at+recFD, -1, asm.Word)},
		when(hasFD, "no descriptor", join(argument(0, "out"), asm.Instructions{rec.store(recFD, asm.R3, asm.Word)})),
		when(address1, "no address1", address(1, "no address1")),
		when(address4, "no address4", address(4, "no address4")),
		when(flags2, "no flags2", flags(2, "no flags2")),
		when(flags3, "no flags3", flags(3, "no flags3")),
		when(socketOnly, "any descriptor", join(p.inode(rec, "out"),
			when(fullEnter, "no sock", p.sock(rec, "no sock")))),
		asm.Instructions{asm.FnGetCurrentTask.Call(), asm.Mov.Reg(pointer, asm.R0)},
		read(rec, recStart, 8, pointer, p.taskStart, "no start"), mark("no start"),
		rec.pass(asm.R1, recName), asm.Instructions{asm.Mov.Imm(asm.R2, 16), asm.FnGetCurrentComm.Call(),
			asm.LoadMapPtr(asm.R1, p.open)}, slot(asm.R2, slotKey), rec.pass(asm.R3, 0),
		asm.Instructions{asm.Mov.Imm(asm.R4, 0), asm.FnMapUpdateElem.Call(), asm.JEq.Imm(asm.R0, 0, "out")},
		p.lose(), p.out(),
	)
}

// inode reads the inode's number of the socket of the record's descriptor, and lets pointer point
// to its file. It jumps if the descriptor is not that of a socket.
func (p *programs) inode(rec place, failed string) asm.Instructions {
	return join(
		asm.Instructions{asm.FnGetCurrentTask.Call(), asm.Mov.Reg(pointer, asm.R0)},
		follow(pointer, pointer, p.taskFiles, asm.DWord, failed),
		follow(pointer, pointer, p.filesTable, asm.DWord, failed),
		follow(asm.R1, pointer, p.tableMax, asm.Word, failed),
		asm.Instructions{rec.load(asm.R2, recFD, asm.Word), asm.JGE.Reg(asm.R2, asm.R1, failed)},
		follow(pointer, pointer, p.tableFiles, asm.DWord, failed),
		asm.Instructions{rec.load(asm.R2, recFD, asm.Word), asm.LSh.Imm(asm.R2, 3), asm.Add.Reg(pointer, asm.R2)},
		follow(pointer, pointer, 0, asm.DWord, failed),
		asm.Instructions{asm.JEq.Imm(pointer, 0, failed)},
		follow(context, pointer, p.fileInode, asm.DWord, failed),
		follow(asm.R1, context, p.inodeMode, asm.Half, failed),
		asm.Instructions{asm.And.Imm(asm.R1, unix.S_IFMT), asm.JNE.Imm(asm.R1, unix.S_IFSOCK, failed)},
		read(rec, recInode, 8, context, p.inodeNumber, failed),
	)
}

// sock reads the socket of the file at pointer, and lets pointer point to its struct sock.
func (p *programs) sock(rec place, failed string) asm.Instructions {
	return join(
		follow(pointer, pointer, p.filePrivate, asm.DWord, failed),
		asm.Instructions{asm.JEq.Imm(pointer, 0, failed)},
		follow(pointer, pointer, p.socketSock, asm.DWord, failed),
		asm.Instructions{asm.JEq.Imm(pointer, 0, failed)},
		read(rec, recCommon, p.common, pointer, 0, failed),
		read(rec, recType, 2, pointer, p.sockType, failed),
		p.stream(rec, p.consumed, failed),
	)
}

// stream reads a sequence number of TCP, and that of the first byte.
func (p *programs) stream(rec place, sequence int32, failed string) asm.Instructions {
	return join(
		read(rec, recFamily, 2, pointer, p.family, failed),
		read(rec, recProtocol, 2, pointer, p.sockProtocol, failed),
		asm.Instructions{rec.load(asm.R1, recFamily, asm.Half), asm.JEq.Imm(asm.R1, unix.AF_INET, failed+" tcp"),
			asm.JNE.Imm(asm.R1, unix.AF_INET6, failed)}, mark(failed+" tcp"),
		asm.Instructions{rec.load(asm.R1, recProtocol, asm.Half),
			asm.JNE.Imm(asm.R1, unix.IPPROTO_TCP, failed)},
		read(rec, recOrigin, 4, pointer, p.received, failed),
		follow(asm.R1, pointer, p.streamed, asm.DWord, failed),
		asm.Instructions{rec.load(asm.R2, recOrigin, asm.Word), asm.Sub.Reg(asm.R2, asm.R1),
			rec.store(recOrigin, asm.R2, asm.Word)},
		read(rec, recSequence, 4, pointer, sequence, failed),
		asm.Instructions{asm.Mov.Imm(asm.R1, 1), rec.store(recStreamed, asm.R1, asm.Word)},
	)
}

// exit is the program of sys_exit.
func (p *programs) exit() asm.Instructions {
	rec := place{record, 0}
	return join(
		asm.Instructions{asm.Mov.Reg(context, asm.R1)}, p.selected(),
		asm.Instructions{asm.FnGetCurrentPidTgid.Call(), asm.StoreMem(stack, slotKey, asm.R0, asm.DWord)},
		p.lookup(p.open, slotKey, "out"),
		asm.Instructions{asm.Mov.Reg(record, asm.R0)}, now(rec, recEnd),
		asm.Instructions{asm.LoadMem(asm.R1, context, 8, asm.DWord), rec.store(recResult, asm.R1, asm.DWord),
			asm.LoadMem(property, record, recCall, asm.Word)},
		when(resultFD, "same descriptor", asm.Instructions{asm.LoadMem(asm.R2, record, recResult, asm.DWord),
			asm.JSLT.Imm(asm.R2, 0, "same descriptor"), rec.store(recFD, asm.R2, asm.Word)}),
		when(fullExit, "known", join(p.inode(rec, "known"), p.sock(rec, "unstreamed"), mark("unstreamed"),
			p.watch(rec))),
		p.output(rec, sizeRecord, "written"), mark("written"),
		asm.Instructions{asm.LoadMapPtr(asm.R1, p.open)}, slot(asm.R2, slotKey),
		asm.Instructions{asm.FnMapDeleteElem.Call()}, p.out(),
	)
}

// watch notes a socket of the internet, so that its arrivals are recorded.
func (p *programs) watch(rec place) asm.Instructions {
	return join(
		asm.Instructions{rec.load(asm.R1, recFamily, asm.Half), asm.JEq.Imm(asm.R1, unix.AF_INET, "inet"),
			asm.JNE.Imm(asm.R1, unix.AF_INET6, "known")}, mark("inet"),
		asm.Instructions{asm.StoreMem(stack, slotValue, pointer, asm.DWord)},
		asm.Instructions{asm.LoadMapPtr(asm.R1, p.watched)}, slot(asm.R2, slotValue),
		asm.Instructions{asm.FnMapLookupElem.Call(), asm.JNE.Imm(asm.R0, 0, "watched")},
		asm.Instructions{asm.LoadMapPtr(asm.R1, p.watched)}, slot(asm.R2, slotValue), rec.pass(asm.R3, recInode),
		asm.Instructions{asm.Mov.Imm(asm.R4, 0), asm.FnMapUpdateElem.Call(), asm.Ja.Label("known")},
		mark("watched"),
		asm.Instructions{rec.load(asm.R1, recInode, asm.DWord), asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord)},
	)
}

// output writes a record to the ring. It wakes the reader when the ring becomes filled to a part,
// and again to twice that. Other records do not: the reader reads until the ring is empty.
// Processors may write at the same time, so all records of a quarter of a part wake it.
func (p *programs) output(rec place, size int32, then string) asm.Instructions {
	return join(
		p.losses(),
		asm.Instructions{asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), rec.store(recLost, asm.R1, asm.Word),
			asm.LoadMapPtr(asm.R1, p.ring), asm.Mov.Imm(asm.R2, 0), asm.FnRingbufQuery.Call(),
			asm.Mov.Imm(asm.R4, 1), asm.JLT.Imm(asm.R0, p.wake, "ring"), asm.JLE.Imm(asm.R0, p.wake+p.wake/4, "wake"),
			asm.JLT.Imm(asm.R0, 2*p.wake, "ring"), asm.JGT.Imm(asm.R0, 2*p.wake+p.wake/4, "ring")},
		mark("wake"), asm.Instructions{asm.Mov.Imm(asm.R4, 2)}, mark("ring"),
		asm.Instructions{asm.LoadMapPtr(asm.R1, p.ring)}, rec.pass(asm.R2, 0),
		asm.Instructions{asm.Mov.Imm(asm.R3, size), asm.FnRingbufOutput.Call(), asm.JEq.Imm(asm.R0, 0, then)},
		p.lose(),
	)
}

// arrival is the program of sk_data_ready. It may run in any process.
func (p *programs) arrival() asm.Instructions {
	rec := place{stack, onStack}
	return join(
		asm.Instructions{asm.LoadMem(pointer, asm.R1, 0, asm.DWord), asm.StoreMem(stack, slotKey, pointer, asm.DWord)},
		p.lookup(p.watched, slotKey, "out"),
		asm.Instructions{asm.LoadMem(record, asm.R0, 0, asm.DWord)}, zero(rec, sizeArrival),
		now(rec, recBegin),
		// The memory of a closed socket may be that of another one.
		follow(context, pointer, p.sockSocket, asm.DWord, "out"),
		asm.Instructions{asm.JEq.Imm(context, 0, "out")},
		read(rec, recInode, 8, context, p.socketInode, "out"),
		asm.Instructions{rec.load(asm.R1, recInode, asm.DWord), asm.JNE.Reg(asm.R1, record, "out"),
			asm.Mov.Imm(asm.R1, 1), rec.store(recArrival, asm.R1, asm.Word)},
		p.stream(rec, p.received, "datagram"), mark("datagram"),
		p.output(rec, sizeArrival, "out"), p.out(),
	)
}
