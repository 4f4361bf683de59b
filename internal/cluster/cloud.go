// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

const (
	// cloudTimeout bounds all that a cloud is asked for one way into a cluster.
	cloudTimeout = 20 * time.Second
	// foundRecently is how long what was found is used without a token that holds. The
	// one for the next request is asked for then.
	foundRecently = time.Minute
)

// Access is a way into a cluster that a cloud tells.
type Access struct {
	// Address of the API server, and what verifies it, in PEM; empty for the authorities
	// of the system.
	Address string
	CA      []byte
	Token   string
	// Expires is when the token does; zero uses it but once.
	Expires time.Time
}

// CloudLookup asks a cloud for a way into a cluster. It is called concurrently, and returns
// when ctx ends. An error that has a method Cause, which returns a text, is quoted by
// that, and no error may hold anything secret.
type CloudLookup func(ctx context.Context, w *Workload, tokens TokenRequester) (Access, error)

// WithCloudLookup sets what finds clusters of clouds. It must be called before connections are
// asked for.
func (c *Connections) WithCloudLookup(clouds CloudLookup) *Connections {
	c.clouds = clouds
	return c
}

// cloud takes the address of a cluster of a cloud, and checks what else it needs.
func (w *Workload) cloud(address string) (err error) {
	if address != "" {
		if w.Address, err = reachable(address); err != nil {
			return err
		}
	}
	// Whose API server is known, and what verifies it, needs no name. For AWS, tokens are
	// for a name in a region.
	if w.Resource == "" && w.Cloud != "aws" && w.ServiceAccount.Name != "" && w.Address != "" && w.CA != "" {
		return nil
	}
	form, example := resourceForm(w.Cloud)
	if w.Resource == "" {
		return fmt.Errorf("cluster is missing: for %s it is like %s", w.Cloud, example)
	}
	if !form.MatchString(w.Resource) {
		return fmt.Errorf("cluster is not the name of one: for %s it is like %s", w.Cloud, example)
	}
	return nil
}

// resourceForm returns what names of clusters look like.
func resourceForm(cloud string) (*regexp.Regexp, string) {
	switch cloud {
	case "aws":
		return regexp.MustCompile(`^arn:aws[\w-]*:eks:[^:/]+:\d+:cluster/[^/]+$`), "arn:aws:eks:<region>:<account>:cluster/<name>"
	case "azure":
		return regexp.MustCompile(`(?i)^/subscriptions/[^/]{36}/resourceGroups/[^/]+/providers/Microsoft\.ContainerService/managedClusters/[^/]+$`),
			"/subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.ContainerService/managedClusters/<name>"
	}
	return regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/clusters/[^/]+$`), "projects/<project>/locations/<location>/clusters/<name>"
}

// reachable is canonical, and leaves the path: that of a gateway says where it leads.
func reachable(address string) (string, error) {
	root, err := canonical(address)
	if err != nil {
		return "", err
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("address is no https URL of an API server")
	}
	return root + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// key is that of the ConfigMap which says what the cluster is called.
func (w *Workload) key() string {
	if w.Resource == "" {
		return "address"
	}
	return "cluster"
}

func (w *Workload) name() string {
	if w.Resource == "" {
		return w.Address
	}
	return w.Resource
}

// lookup is the digest of what a cloud is asked, and differs from that of what it
// answers.
func (w *Workload) lookup() digest {
	// Texts can become JSON.
	raw, _ := json.Marshal(w)
	return sha256.Sum256(append([]byte("cloud\x00"), raw...))
}

// locator finds out where a cluster of a cloud is, and asks for tokens for it: the
// cloud tells both at once. It may be used concurrently.
type locator struct {
	key digest
	of  *Workload
	// gate stands before the cloud, which is asked by its probes, and by requests whose
	// token has expired meanwhile.
	gate   *gate
	bearer *bearer
	clouds CloudLookup
	tokens TokenRequester
	now    func() time.Time

	mu sync.Mutex
	// found is where the cluster is, since then; nil if that is not known.
	found *Workload
	since time.Time
}

// Locate returns id with where its cluster is, if a cloud has to say that, and a token
// for it is there. If not, it returns what to say, and the visit is to end: who is woken
// through the Callbacks once there is news. Nothing is sent.
func (c *Connections) Locate(id Identity, who types.NamespacedName) (Identity, *Unreachable) {
	if id.Workload == nil || id.Workload.Cloud == "" {
		return id, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.locatorOf(id.Workload)
	l.gate.touch(c.now())
	if !l.usable() {
		if before := c.waiting[who]; before != nil && before != l.gate {
			before.leave(who)
		}
		return id, c.stand(l, who)
	}
	id.Workload, id.locator = l.place(), l
	return id, nil
}

// stand lets who wait for a cloud. It is called with the mutex held.
func (c *Connections) stand(l *locator, who types.NamespacedName) *Unreachable {
	c.waiting[who] = l.gate
	return l.gate.await(who)
}

// locatorOf is called with the mutex held.
func (c *Connections) locatorOf(w *Workload) *locator {
	key := w.lookup()
	if g := c.gates[key]; g != nil {
		return g.via
	}
	l := &locator{key: key, of: w, clouds: c.clouds, tokens: c.tokens, now: c.now}
	l.gate = newGate(w.name(), c.now, c.probing.Load, c.look)
	l.gate.of, l.gate.via, l.gate.probe = w, l, l.probe
	l.bearer = newBearer(w, nil, c.keep, c.now, &c.counts)
	l.bearer.fetch, l.bearer.barred = l.ask, l.gate.closed
	c.gates[key] = l.gate
	return l
}

// usable reports whether requests may be sent: with a token that is there, or with one
// that is asked for then.
func (l *locator) usable() bool {
	l.mu.Lock()
	found, since := l.found, l.since
	l.mu.Unlock()
	if found == nil {
		return false
	}
	return l.bearer.held() != "" || !l.gate.isOpen() && l.now().Sub(since) < foundRecently
}

// place is called if the locator is usable.
func (l *locator) place() *Workload {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found
}

func (l *locator) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	_, err := l.bearer.renewed(ctx)
	return err
}

// ask asks the cloud for a token, and notes what else it says.
func (l *locator) ask(asked context.Context) (string, time.Time, error) {
	ctx, cancel := context.WithTimeout(asked, cloudTimeout)
	defer cancel()
	found, access, err := l.find(ctx)
	if err != nil {
		if asked.Err() == nil {
			l.gate.doubt(apiretry.Cause(err))
		}
		return "", time.Time{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found, l.since = found, l.now()
	return access.Token, access.Expires, nil
}

func (l *locator) find(ctx context.Context) (*Workload, Access, error) {
	if l.clouds == nil {
		return nil, Access{}, errors.New("nobody finds clusters of clouds")
	}
	access, err := l.clouds(ctx, l.of, l.tokens)
	if err != nil {
		return nil, Access{}, err
	}
	found := *l.of
	if found.Address, err = reachable(access.Address); err != nil {
		return nil, Access{}, fmt.Errorf("the cloud does not say where the cluster is: %w", err)
	}
	found.CA = string(access.CA)
	return &found, access, nil
}
