package http

import (
	"hatchel/hcl"
	"hatchel/hcl/template/urltext"
)

// checkHosts refuses hosts where the author's text already names the host, and their absence where a value does.
func (r *request) checkHosts(address *hcl.RequestURL, conn *hcl.Connection) (errs []error) {
	switch {
	case conn != nil && r.Hosts != nil:
		errs = append(errs, hcl.Blame(&r.Hosts, "The connection names the host. Remove hosts."))
	case conn == nil && address.NeedsHosts() && len(r.Hosts) == 0:
		errs = append(errs, hcl.Blame(r.place(), "The host of this address is a value of the call, so the block must say which hosts are allowed: hosts = [\"api.example.com\"]."))
	case conn == nil && !address.NeedsHosts() && r.Hosts != nil:
		errs = append(errs, hcl.Blame(&r.Hosts, "The address names its host. Remove hosts, or make the whole address a value of the call."))
	}
	for _, host := range r.Hosts {
		if !urltext.ValidHost(host) {
			errs = append(errs, hcl.Blame(&r.Hosts, "%q is not a host: write one such as \"api.example.com\", \"*.example.com\" or \"localhost:8080\".", host))
		}
	}
	return errs
}

// place is the field of the verb that was written.
func (r *request) place() any {
	for _, a := range []**hcl.RequestURL{&r.Get, &r.Post, &r.Put, &r.Patch, &r.Delete, &r.Head} {
		if *a != nil {
			return a
		}
	}
	return nil
}
