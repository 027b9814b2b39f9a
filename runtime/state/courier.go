package state

import (
	"context"
	"errors"
)

// ErrGone is returned by [Courier.Send] when the receiver no longer exists, so that the news are never heard.
var ErrGone = errors.New("the process no longer exists")

// ErrForged is reported once, by [Courier.Hear] or [Store.Watch], when a notification is ignored because no process of
// this store has sealed it for this one, or because it arrives again.
var ErrForged = errors.New("no process of this state has sent it. Look for who else uses the database")

// MaxBroadcast is the largest size in bytes of news to all processes. News to one process may have any size.
const MaxBroadcast = 4 << 10

// Courier carries news between the processes that share a Store. News are encrypted and authenticated. A Store that
// processes on several machines share is a Courier. Its methods may be called concurrently.
type Courier interface {
	// Name returns the name of this process, to which other processes send. Each opened store has another one.
	Name() string

	// Processes returns approximately how many processes hear news, at least 1.
	Processes() int

	// Send sends news to a process. It returns nil when the process has heard them, which means that its function
	// has returned, or, after a second, when they are kept in a record that the process reads as soon as it hears
	// again. It returns [ErrGone] when the process does not exist, which only a process that hears itself can tell,
	// and [ErrUnavailable] when ctx ended before the store was available; then the process may have heard the news
	// nevertheless.
	//
	// When to is empty, Send sends news of at most [MaxBroadcast] bytes to all other processes, and returns nil when
	// they are sent. A process that does not hear at this moment misses them.
	Send(ctx context.Context, to string, news []byte) error

	// Hear calls heard with the news for this process and for all, one after the other, until ctx ends. A process
	// hears the news of one Send once. Their order is mostly that of sending, and may differ when a process did not
	// hear for a while. Heard must return soon, and must not call Send.
	//
	// An empty from means that news to all may have been missed: at the beginning, and whenever hearing has been
	// interrupted. Hear calls attempted with the error of each attempt to hear, and nil after one that succeeded.
	// Hear must be called once only.
	Hear(ctx context.Context, heard func(from string, news []byte), attempted func(error))
}
