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

	"github.com/pintle-dev/pintle/internal/apiretry"
)

const (
	// cloudTimeout bounds one CloudLookup.
	cloudTimeout = 20 * time.Second
	// locationTTL is how long the location of a cluster is used without a valid token. The next
	// request then fetches one.
	locationTTL = time.Minute
)

// Access is the address of a cluster and the credentials for it, as a cloud returns them.
type Access struct {
	// Address is the URL of the API server.
	Address string
	// CA is the certificate authority of the API server in PEM; empty for the system's authorities.
	CA    []byte
	Token string
	// Expires is when Token expires. A zero time uses it once.
	Expires time.Time
}

// CloudLookup requests access to a cluster from its cloud. It is called concurrently and returns
// when ctx ends. If an error has a method Cause() string, messages quote that in place of its
// text. Errors must not contain secrets.
type CloudLookup func(ctx context.Context, w *Workload, tokens TokenRequester) (Access, error)

// cloud sets the address of a cluster of a cloud and validates the other fields.
func (w *Workload) cloud(address string) (err error) {
	if address != "" {
		if w.Address, err = normalize(address); err != nil {
			return err
		}
	}
	// A known address and CA need no name, except for AWS: its tokens are bound to the name and
	// region of a cluster.
	if w.Resource == "" && w.Cloud != "aws" && w.ServiceAccount.Name != "" && w.Address != "" && w.CA != "" {
		return nil
	}
	form, example := resourceForm(w.Cloud)
	if w.Resource == "" {
		return fmt.Errorf("cluster is missing: its form for %s is %s", w.Cloud, example)
	}
	if !form.MatchString(w.Resource) {
		return fmt.Errorf("cluster is not a valid name: its form for %s is %s", w.Cloud, example)
	}
	return nil
}

// resourceForm returns the pattern of cluster names of a cloud and an example.
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

// normalize is like canonical, but keeps the path: the path of a gateway selects the cluster.
func normalize(address string) (string, error) {
	root, err := canonical(address)
	if err != nil {
		return "", err
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("address is not an https URL of an API server")
	}
	return root + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// key returns the key of the ConfigMap that identifies the cluster.
func (w *Workload) key() string {
	if w.Resource == "" {
		return "address"
	}
	return "cluster"
}

// name returns the value of key.
func (w *Workload) name() string {
	if w.Resource == "" {
		return w.Address
	}
	return w.Resource
}

// lookupDigest returns the digest of a cloud lookup. It differs from the digest of its result.
func (w *Workload) lookupDigest() digest {
	// Marshalling strings cannot fail.
	raw, _ := json.Marshal(w)
	return sha256.Sum256(append([]byte("cloud\x00"), raw...))
}

// locator looks up the address of a cluster of a cloud together with a token for it. It may be
// used concurrently.
type locator struct {
	digest   digest
	workload *Workload
	// gate guards the cloud. Its probes look up, and so do requests whose token has expired.
	gate      *gate
	tokens    *tokenSource
	lookup    CloudLookup
	requester TokenRequester
	now       func() time.Time

	mu sync.Mutex
	// located is the workload with address and CA; nil if they are not known.
	located   *Workload
	locatedAt time.Time
}

// usable reports whether requests may be sent, with the cached token or with one that they fetch.
func (l *locator) usable() bool {
	l.mu.Lock()
	located, at := l.located, l.locatedAt
	l.mu.Unlock()
	if located == nil {
		return false
	}
	return l.tokens.cachedToken() != "" || !l.gate.isOpen() && l.now().Sub(at) < locationTTL
}

// target returns the located workload; nil if it is not known.
func (l *locator) target() *Workload {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.located
}

func (l *locator) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	_, err := l.tokens.refresh(ctx)
	return err
}

// fetchToken requests a token from the cloud and stores the address that comes with it.
func (l *locator) fetchToken(parent context.Context) (string, time.Time, error) {
	ctx, cancel := context.WithTimeout(parent, cloudTimeout)
	defer cancel()
	located, access, err := l.locate(ctx)
	if err != nil {
		if parent.Err() == nil {
			l.gate.fail(apiretry.Cause(err))
		}
		return "", time.Time{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.located, l.locatedAt = located, l.now()
	return access.Token, access.Expires, nil
}

func (l *locator) locate(ctx context.Context) (*Workload, Access, error) {
	if l.lookup == nil {
		return nil, Access{}, errors.New("clusters of clouds are not supported")
	}
	access, err := l.lookup(ctx, l.workload, l.requester)
	if err != nil {
		return nil, Access{}, err
	}
	located := *l.workload
	if located.Address, err = normalize(access.Address); err != nil {
		return nil, Access{}, fmt.Errorf("the cloud returned no usable address of the cluster: %w", err)
	}
	located.CA = string(access.CA)
	return &located, access, nil
}
