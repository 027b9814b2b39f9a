// Package approval keeps what somebody must approve before it is done. A [Book] notes in the store what is asked for, who may wait for the answer waits with [Book.Await], who
// reviews it decides with [Book.Decide], and exactly one of those who hold an approval may use it, with [Book.Use]. Any number of processes may have a Book on the same store.
//
// What holds is what the store has: of two who decide at once one wins, and what is not decided when its time has passed is not approved.
// What can count no more before anybody has decided ends with [Book.Void].
//
// A decision that must be written down elsewhere before it holds is made in parts: [Book.Propose] makes sure that nobody else decides, then it is written down, and
// [Book.Confirm] makes it hold.
package approval
