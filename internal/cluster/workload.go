// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Workload is a cluster without a kubeconfig: a cluster of a cloud, or one that trusts the
// ServiceAccount tokens of the controller's cluster. Credentials are requested when they are needed
// and are not stored.
type Workload struct {
	// Cloud is aws, azure or gcp; empty for a cluster that trusts tokens of ServiceAccounts.
	Cloud string
	// Resource is the name of the cluster in its cloud; empty if it is not needed.
	Resource string
	// Address is the URL of the API server; empty if the cloud looks it up.
	Address string
	// CA is the certificate authority of the API server in PEM. If it is empty, the cloud looks
	// it up, or the authorities of the system are used.
	CA string
	// Audiences are the audiences of tokens; empty for the default of the cloud.
	Audiences []string
	// ServiceAccount is the ServiceAccount whose tokens are used, in the controller's own
	// cluster. Without a name, which only a cloud allows, the controller uses its own identity.
	ServiceAccount types.NamespacedName
	// Annotations of the ServiceAccount select the identity in a cloud; nil elsewhere.
	// ParseWorkload does not set them.
	Annotations map[string]string
}

// WorkloadOptions limit the content of ConfigMaps that describe clusters. Flags of the controller
// set them.
type WorkloadOptions struct {
	// DefaultServiceAccount is the ServiceAccount of ConfigMaps that name none; empty for none.
	DefaultServiceAccount string
	// AllowServiceAccounts allows tokens of ServiceAccounts.
	AllowServiceAccounts bool
}

// ParseWorkload parses the data of a ConfigMap. Its ServiceAccount is in namespace. Errors start
// with the key.
func ParseWorkload(data map[string]string, namespace string, o WorkloadOptions) (*Workload, error) {
	w := &Workload{CA: data["ca.crt"], Resource: data["cluster"]}
	name := data["serviceAccountName"]
	if name == "" {
		name = o.DefaultServiceAccount
	}
	w.ServiceAccount = types.NamespacedName{Namespace: namespace, Name: name}
	for audience := range strings.Lines(data["audiences"]) {
		if audience = strings.TrimSpace(audience); audience != "" {
			w.Audiences = append(w.Audiences, audience)
		}
	}
	complete := w.generic
	switch provider := data["provider"]; provider {
	case "generic":
		if !o.AllowServiceAccounts {
			return nil, errors.New("provider generic is for tokens of ServiceAccounts" + withoutGate)
		}
	case "aws", "azure", "gcp":
		w.Cloud, complete = provider, w.cloud
		if name != "" && !o.AllowServiceAccounts {
			return nil, errors.New("serviceAccountName requests tokens of ServiceAccounts" + withoutGate)
		}
	default:
		return nil, errors.New("provider: aws, azure, gcp or generic")
	}
	if err := complete(data["address"]); err != nil {
		return nil, err
	}
	return w, nil
}

const withoutGate = ", which need the feature gate ObjectLevelWorkloadIdentity"

// generic sets the address of a cluster that trusts tokens of ServiceAccounts.
func (w *Workload) generic(address string) (err error) {
	w.Resource = ""
	if w.ServiceAccount.Name == "" {
		// The author of the ConfigMap chooses the address that would receive the token.
		return errors.New("serviceAccountName is missing: a token of the controller is not sent to other clusters")
	}
	if w.Address, err = canonical(address); err != nil {
		return err
	}
	if len(w.Audiences) == 0 {
		w.Audiences = []string{address}
	}
	return nil
}

// canonical returns the address of an API server with scheme and port, without path and query.
func canonical(address string) (string, error) {
	if address != "" && !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", errors.New("address is not an https URL of an API server")
	}
	host := strings.ToLower(u.Host)
	if u.Port() == "" {
		host += ":443"
	}
	return "https://" + host, nil
}

func (w *Workload) config() *rest.Config {
	return &rest.Config{Host: w.Address, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(w.CA)}, Timeout: remoteTimeout}
}

// digest returns a digest that differs from the digest of any kubeconfig.
func (w *Workload) digest() digest {
	// Marshalling strings cannot fail.
	raw, _ := json.Marshal(w)
	return sha256.Sum256(append([]byte("workload\x00"), raw...))
}
