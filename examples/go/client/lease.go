// Package client has what a client of musterd computes itself: until when it may work, where a key is, and what an
// error means. Copy it.
package client

import (
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const clockBoottime = 7

// Now is on a clock that goes on while the machine is suspended, as time.Now() does not.
func Now() time.Duration {
	var now syscall.Timespec
	if _, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&now)), 0); failed != 0 {
		panic(failed)
	}
	return time.Duration(now.Nano())
}

// UUID makes a name that no other process has.
func UUID() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Lease is what servers grant because of a client's beats. It counts from when the beat was sent that an answer names,
// and nothing revives it once it has ended, except another grant. Any goroutine may call Valid and Deadline, and one the others.
type Lease struct {
	deadline int64 // Nanoseconds, atomic.
	sent     map[uint64]time.Duration
}

// NewStream forgets the beats: answers on another stream do not name them.
func (l *Lease) NewStream() { l.sent = map[uint64]time.Duration{} }

// Sent notes a beat. Call it just before the beat is sent.
func (l *Lease) Sent(beat uint64, now time.Duration) {
	l.sent[beat] = now
	delete(l.sent, beat-16)
}

// Valid says whether work is allowed. Ask it before every effect.
func (l *Lease) Valid(now time.Duration) bool { return now < l.Deadline() }

// Deadline is the end of the lease.
func (l *Lease) Deadline() time.Duration { return time.Duration(atomic.LoadInt64(&l.deadline)) }

// Grant begins a lease; false if it is over already.
func (l *Lease) Grant(beat uint64, leftMs uint64, now time.Duration) bool {
	sent, known := l.sent[beat]
	end := sent + time.Duration(leftMs)*time.Millisecond
	if !known || now >= end {
		return false
	}
	atomic.StoreInt64(&l.deadline, int64(end))
	return true
}

// Renew moves the deadline; false if the lease was over before the answer came.
func (l *Lease) Renew(beat uint64, leftMs uint64, now time.Duration) bool {
	sent, known := l.sent[beat]
	if !known || !l.Valid(now) {
		return false
	}
	if end := sent + time.Duration(leftMs)*time.Millisecond; end > l.Deadline() {
		atomic.StoreInt64(&l.deadline, int64(end))
	}
	return true
}
