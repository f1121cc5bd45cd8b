"""The client of servers of Paimon's REST protocol: requests, answers, logins."""
