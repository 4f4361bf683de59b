// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
)

const (
	etcd                 = "etcd"
	apiServer            = "kube-apiserver"
	controllerManager    = "kube-controller-manager"
	scheduler            = "kube-scheduler"
	kwok                 = "kwok"
	sourceControllerName = "source-controller"
)

// nodeAnnotation marks the nodes that kwok simulates.
const nodeAnnotation = "kwok.x-k8s.io/node"

type component struct {
	name string
	// path is of the executable; empty means that it was built, by that name.
	path string
	args []string
	env  []string
}

func (r request) etcd() component {
	client, peer := "http://"+r.Ports.etcd(), "http://"+r.Ports.etcdPeer()
	return component{name: etcd, args: []string{
		"--name", "pintle", "--data-dir", filepath.Join(r.State, "etcd"),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--initial-cluster", "pintle=" + peer,
		// A test cluster may lose its data in a power cut, and waiting for the disk is most of
		// the time of a write.
		"--unsafe-no-fsync=true",
		"--log-level", "warn",
	}, env: lazyGC()}
}

// lazyGC is the environment of the components with most of the load. A short-lived cluster has few
// processors and enough memory, so garbage is collected later than by default (100).
func lazyGC() []string { return []string{"GOGC=400"} }

func (r request) apiServer() component {
	args := []string{
		"--etcd-servers", "http://" + r.Ports.etcd(),
		"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
		"--secure-port", r.Ports.number(2),
		// The range must not be a /24: that is full after some 250 Services.
		"--service-cluster-ip-range", "10.96.0.0/12",
		"--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction",
		// Endpoints of the Service "kubernetes" may not be loopback addresses, so
		// the reconciler would fail and log for ever.
		"--endpoint-reconciler-type", "none",
		"--allow-privileged=true",
		"--cert-dir", r.pki(""), "--client-ca-file", r.pki("ca.crt"),
		"--tls-cert-file", r.pki("serving.crt"), "--tls-private-key-file", r.pki("serving.key"),
		"--service-account-issuer", "https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file", r.pki("service-account.pub"),
		"--service-account-signing-key-file", r.pki("service-account.key"),
		"--kubelet-client-certificate", r.pki("to-kubelet.crt"), "--kubelet-client-key", r.pki("to-kubelet.key"),
		"--kubelet-preferred-address-types", "InternalIP",
		"--proxy-client-cert-file", r.pki("front-proxy.crt"), "--proxy-client-key-file", r.pki("front-proxy.key"),
		"--requestheader-client-ca-file", r.pki("front-proxy-ca.crt"),
		"--requestheader-allowed-names", "front-proxy-client",
		"--requestheader-username-headers", "X-Remote-User",
		"--requestheader-group-headers", "X-Remote-Group",
		"--requestheader-extra-headers-prefix", "X-Remote-Extra-",
	}
	if r.AuditLog != "" {
		args = append(args,
			"--audit-policy-file", r.auditPolicy(), "--audit-log-path", r.AuditLog,
			// In mebibytes. A file that is rotated under its reader loses lines.
			"--audit-log-maxsize", "100000",
		)
	}
	return component{name: apiServer, args: args, env: lazyGC()}
}

// auditPolicy is the path of the audit policy: metadata of every request, without its content. The
// stage RequestReceived is omitted, because later stages have more data; a watch is also logged
// when it is answered.
func (r request) auditPolicy() string { return filepath.Join(r.State, "audit-policy.yaml") }

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
`

// clientFlags are shared by the controller manager and the scheduler. With their default of 20
// requests a second, the default ServiceAccount is created seconds late.
func (r request) clientFlags(name string) []string {
	own := r.pki(name + ".kubeconfig")
	return []string{
		"--kubeconfig", own, "--authentication-kubeconfig", own, "--authorization-kubeconfig", own,
		"--bind-address", "127.0.0.1",
		"--tls-cert-file", r.pki("serving.crt"), "--tls-private-key-file", r.pki("serving.key"),
		"--leader-elect=false", "--kube-api-qps", "500", "--kube-api-burst", "1000",
	}
}

func (r request) controllerManager() component {
	return component{name: controllerManager, args: append(r.clientFlags(controllerManager),
		"--secure-port", r.Ports.number(3),
		"--use-service-account-credentials",
		"--service-account-private-key-file", r.pki("service-account.key"),
		"--root-ca-file", r.pki("ca.crt"),
		"--cluster-signing-cert-file", r.pki("ca.crt"), "--cluster-signing-key-file", r.pki("ca.key"),
	), env: lazyGC()}
}

func (r request) scheduler() component {
	return component{name: scheduler, args: append(r.clientFlags(scheduler), "--secure-port", r.Ports.number(4))}
}

func (r request) kwok(stages []string) component {
	args := []string{
		"--kubeconfig", r.pki("admin.kubeconfig"),
		"--manage-nodes-with-annotation-selector", nodeAnnotation + "=fake",
		"--cidr", "10.244.0.0/16", "--node-ip", "127.0.0.1",
		"--node-lease-duration-seconds", "40",
		"--server-address", r.Ports.kwok(),
	}
	for _, stage := range stages {
		args = append(args, "--config", stage)
	}
	// kwok also reads a configuration from the home directory if it exists.
	return component{name: kwok, args: args, env: []string{"HOME=" + r.State}}
}

func (r request) sourceController() component {
	advertised := r.SourceAdvertise
	if advertised == "" {
		advertised = r.Ports.sourceArtifacts()
	}
	return component{
		name: sourceControllerName,
		args: []string{
			"--storage-path", filepath.Join(r.State, "source"),
			"--storage-addr", r.Ports.sourceArtifacts(), "--storage-adv-addr", advertised,
			"--metrics-addr", r.Ports.sourceMetrics(), "--health-addr", r.Ports.sourceHealth(),
			"--events-addr=", "--enable-leader-election=false",
		},
		env: []string{
			"RUNTIME_NAMESPACE=" + sourceNamespace,
			"KUBECONFIG=" + r.pki("admin.kubeconfig"),
			"HOME=" + r.State,
		},
	}
}
