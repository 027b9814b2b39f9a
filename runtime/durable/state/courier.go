package state

import (
	"context"
	"errors"
)

// ErrNoReceiver is returned by [Courier.Send] when the receiver no longer exists, so that nothing is received.
var ErrNoReceiver = errors.New("the process no longer exists")

// ErrForged is reported once, by [Courier.Receive] or [Store.Watch], when a notification is ignored because no process
// of this store has sealed it for this one, or because it arrives again.
var ErrForged = errors.New("no process of this state has sent it. Look for who else uses the database")

// MaxBroadcast is the largest size in bytes of a message to all processes. One to a single process may have any size.
const MaxBroadcast = 4 << 10

// Courier carries messages between the processes that share a Store. They are encrypted and authenticated. A Store that
// processes on several machines share is a Courier. Its methods may be called concurrently.
type Courier interface {
	// Name returns the name of this process, to which other processes send. Each opened store has another one.
	Name() string

	// Processes returns approximately how many processes receive messages, at least 1.
	Processes() int

	// Send sends a message to a process. It returns nil when the process has received it, which means that its
	// function has returned, or, after a second, when it is kept in a record that the process reads as soon as it
	// receives again. It returns [ErrNoReceiver] when the process does not exist, which only a process that receives
	// itself can tell, and [ErrUnavailable] when ctx ended before the store was available; then the process may have
	// received the message nevertheless.
	//
	// When to is empty, Send sends a message of at most [MaxBroadcast] bytes to all other processes, and returns nil
	// when it is sent. A process that does not receive at this moment misses it.
	Send(ctx context.Context, to string, message []byte) error

	// Receive calls receive with the messages for this process and for all, one after the other, until ctx ends. A
	// process receives the message of one Send once. Their order is mostly that of sending, and may differ when a
	// process did not receive for a while. The function must return soon, and must not call Send.
	//
	// An empty from means that messages to all may have been missed: at the beginning, and whenever receiving has been
	// interrupted. Receive calls attempted with the error of each attempt to receive, and nil after one that
	// succeeded. Receive must be called once only.
	Receive(ctx context.Context, receive func(from string, message []byte), attempted func(error))
}
