// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

const (
	// maxConnections bounds how many connections are kept.
	maxConnections = 128
	// maxIdle is how long a connection is kept that nobody asks for. Releases are
	// looked at more often than that, usually.
	maxIdle = 30 * time.Minute
)

// Home is what Connection.Cluster returns for the controller's own cluster.
const Home = "home"

// Identity is a cluster and somebody in it.
type Identity struct {
	// User to be impersonated, "system:serviceaccount:<namespace>:<name>"; empty for
	// whoever the configuration authenticates as.
	User string
	// Kubeconfig is the content of one that leads to another cluster; nil for the
	// cluster of the controller.
	Kubeconfig []byte
	// Fresh asks for a connection that nobody else uses and that is not kept.
	Fresh bool
}

// Connections hands out one connection per identity, the same to everybody who
// asks. It may be used concurrently.
type Connections struct {
	local *rest.Config
	trust Trust
	now   func() time.Time
	// guard is what every request goes through last; nil for nothing.
	guard transport.WrapperFunc

	// home is what the controller's own cluster offers.
	home *catalogue

	mu sync.Mutex
	// kept finds the elements of recent, the one asked for last at its front.
	kept   map[connectionKey]*list.Element
	recent *list.List
}

// connectionKey tells connections apart by what their kubeconfigs say, so that
// one that has changed leads to another connection.
type connectionKey struct {
	user   string
	remote bool
	digest [sha256.Size]byte
}

func (i Identity) key() connectionKey {
	return connectionKey{user: i.User, remote: i.Kubeconfig != nil, digest: sha256.Sum256(i.Kubeconfig)}
}

// String differs between any two keys.
func (k connectionKey) String() string { return fmt.Sprintf("%s %t %x", k.user, k.remote, k.digest) }

type keptConnection struct {
	key        connectionKey
	connection *Connection
	asked      time.Time
}

// NewConnections returns connections that start from local, the way into the
// controller's own cluster. Its limits of requests and its user agent hold for
// other clusters too.
func NewConnections(local *rest.Config, trust Trust, now func() time.Time) *Connections {
	return &Connections{
		local: rest.CopyConfig(local), trust: trust, now: now, home: newCatalogue(now),
		kept: map[connectionKey]*list.Element{}, recent: list.New(),
	}
}

// Through has every connection, to whichever cluster, send its requests through
// guard; nil is nothing. It must be called before connections are asked for.
func (c *Connections) Through(guard transport.WrapperFunc) *Connections {
	c.guard = guard
	return c
}

// For returns the connection of an identity. Nothing is sent. An error means
// that the kubeconfig cannot be used, and quotes nothing of it.
func (c *Connections) For(id Identity) (*Connection, error) {
	if id.Fresh {
		return c.connect(id, newCatalogue(nil))
	}
	key := id.key()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	found, ok := c.kept[key]
	if !ok {
		connection, err := c.connect(id, c.catalogueFor(key))
		if err != nil {
			return nil, err
		}
		found = c.recent.PushFront(&keptConnection{key: key, connection: connection})
		c.kept[key] = found
	}
	c.recent.MoveToFront(found)
	kept := entry(found)
	kept.asked = now
	c.drop(now)
	return kept.connection, nil
}

// catalogueFor returns the catalogue of a cluster, which everybody shares who gets
// there with the same kubeconfig, whomever they impersonate.
func (c *Connections) catalogueFor(key connectionKey) *catalogue {
	if !key.remote {
		return c.home
	}
	for other, kept := range c.kept {
		if other.remote && other.digest == key.digest {
			return entry(kept).connection.catalogue
		}
	}
	return newCatalogue(c.now)
}

// DefinitionsChanged says that the API server of the controller's own cluster may
// offer something else than before. It costs one request for discovery at the next
// use, however often it is called. It may be called concurrently.
func (c *Connections) DefinitionsChanged() { c.home.note() }

// DefinitionsWatched says whether somebody calls DefinitionsChanged from now on.
// Without, what the server offers is trusted for 10 seconds only.
func (c *Connections) DefinitionsWatched(watched bool) { c.home.setWatched(watched) }

// Len returns how many connections are kept.
func (c *Connections) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}

// drop releases the connections that are too many or too long unused.
func (c *Connections) drop(now time.Time) {
	for last := c.recent.Back(); last != nil; last = c.recent.Back() {
		kept := entry(last)
		if c.recent.Len() <= maxConnections && now.Sub(kept.asked) < maxIdle {
			return
		}
		c.recent.Remove(last)
		delete(c.kept, kept.key)
		kept.connection.release()
	}
}

func entry(e *list.Element) *keptConnection {
	return e.Value.(*keptConnection) //nolint:forcetypeassert // nothing else is ever put in
}

func (c *Connections) connect(id Identity, offered *catalogue) (*Connection, error) {
	config := rest.CopyConfig(c.local)
	var own *http.Transport
	if id.Kubeconfig != nil {
		var err error
		if config, err = parse(id.Kubeconfig, c.trust); err != nil {
			return nil, err
		}
		config.QPS, config.Burst, config.UserAgent = c.local.QPS, c.local.Burst, c.local.UserAgent
		if config.ExecProvider == nil {
			if own, err = ownTransport(config); err != nil {
				return nil, err
			}
		}
	}
	config.Impersonate.UserName = id.User
	// First, so that what sends a request twice asks twice.
	config.Wrap(c.guard)
	connection, err := connect(config, offered)
	if err != nil {
		return nil, err
	}
	key := id.key()
	connection.own, connection.local, connection.id, connection.identity = own, id.Kubeconfig == nil, key.String(), key.String()
	connection.cluster = Home
	if key.remote {
		connection.cluster = fmt.Sprintf("%x", key.digest)
	}
	if id.Fresh {
		connection.id = ""
	}
	return connection, nil
}

// ownTransport moves what config says about TLS and proxies into a transport of
// its own. client-go's would be kept for as long as client-go likes, and made
// anew by every client where there is a proxy. It cannot serve exec plugins,
// whose certificates change.
func ownTransport(config *rest.Config) (*http.Transport, error) {
	options, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	tlsConfig, err := transport.TLSConfigFor(options)
	if err != nil {
		return nil, fmt.Errorf("certificates and key: %w", err)
	}
	proxy := http.ProxyFromEnvironment
	if config.Proxy != nil {
		proxy = config.Proxy
	}
	own := utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               proxy,
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     tlsConfig,
		MaxIdleConnsPerHost: 25,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		DisableCompression:  config.DisableCompression,
	})
	config.Transport, config.TLSClientConfig, config.Proxy = own, rest.TLSClientConfig{}, nil
	return own, nil
}
